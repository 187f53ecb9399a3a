-- Differs: the index of statuses is the instance's own here. For all workflows
-- at once their entries are merged.

-- name: list_status
select * from ({{status_merge desc; <; @high; not @up}}) older
union all
select * from ({{status_merge asc; >; @low; @up}}) newer
union all
select * from ({{status_walk desc; not @up}}) older_of_one
union all
select * from ({{status_walk asc; @up}}) newer_of_one;
