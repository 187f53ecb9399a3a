-- name: instance_progress
-- args: @shard smallint, @id uuid, @lease uuid, @progress text
-- What a running handler says of itself; the step's commit clears it.
with mine as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id and lease = @lease for update)
update pawl.instance i set progress = @progress
  from mine where i.shard = @shard and i.id = @id;

-- name: instance_pin
-- args: @shard smallint, @id uuid, @lease uuid, @version integer
-- Behind agenda_lock, in the same commit.
update pawl.instance i set version = @version
  from pawl.agenda a
 where a.shard = @shard and a.instance = @id and a.lease = @lease
   and i.shard = @shard and i.id = @id;

-- name: instance_list
-- args: @shard smallint[], @status text[], @workflow text,
--       @version integer?, @tenant text, @correlation text,
--       @business_key text, @key text, @before uuid, @max integer
-- rows: id uuid, status text, workflow text, version integer,
--       node text, error json, {{whose}}, {{times}}
-- Newest first within each pair of shard and stored status; the caller merges.
-- By an index of their own: those of a correlation, a business key, an external
-- id or a tenant, the first that is given. Without any, each workflow's newest:
-- from one workflow to the next in the index of their standings.
select i.* from {{rows}}
 cross join lateral (
  with recursive w (workflow) as (
    (select coalesce(@workflow, (
       select workflow from pawl.standing
        where shard = s.shard order by workflow limit 1)))
    union all
    select (select n.workflow from pawl.standing n
             where n.shard = s.shard and n.workflow > w.workflow
             order by n.workflow limit 1)
      from w where @workflow is null and w.workflow is not null)
  select id, {{shown_status t.shard; t.id; t.status}},
         {{listed}}
    from (
     select id as found from pawl.instance
      where shard = s.shard and correlation = @correlation
     union all
     select id from pawl.instance
      where shard = s.shard and business_key = @business_key
        and @correlation is null
     union all
     select e.id from w cross join lateral (
       select id from pawl.instance
        where shard = s.shard and workflow = w.workflow
          and key = @key and deleted_at is null offset 0) e
      where @key is not null
        and num_nonnulls(@correlation, @business_key) = 0
     union all
     (select id from pawl.instance
       where num_nonnulls(@correlation, @business_key, @key) = 0
         and shard = s.shard and tenant = @tenant and status = s.status
         and deleted_at is null
         and (@workflow is null or workflow = @workflow)
         and (@version is null
              or version = @version)
         and id < coalesce(@before,
                           'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       order by id desc limit @max)
     union all
     select n.instance from w cross join lateral (
       select instance from pawl.standing
        cross join lateral (
         select version, deleted_at from pawl.instance
          where shard = s.shard and id = instance offset 0) v
        where shard = s.shard and workflow = w.workflow and status = s.status
          and instance < coalesce(@before,
                           'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          and v.deleted_at is null
          and (@version is null
               or v.version = @version)
        order by instance desc limit @max) n
      where num_nonnulls(@correlation, @business_key, @key,
                         @tenant) = 0
     offset 0) f
   cross join lateral (
    select * from pawl.instance
     where shard = s.shard and id = f.found offset 0) t
   where t.status = s.status and deleted_at is null
     and (@workflow is null or workflow = @workflow)
     and (@version is null or version = @version)
     and (@tenant is null or tenant = @tenant)
     and (@business_key is null or business_key = @business_key)
     and (@key is null or key = @key)
     and (@before is null or id < @before)
   order by id desc limit @max) i;

-- name: instance_family
-- args: @shard smallint[], @parent uuid, @root uuid, @workflow text,
--       @version integer?, @tenant text, @correlation text,
--       @business_key text, @key text, @before uuid, @max integer
-- rows: like instance_list
-- The same among the children of one instance, or all that descend from one:
-- by their indexes, whatever their status.
select i.* from {{rows}} cross join lateral (
  select id, {{shown_status t.shard; t.id; t.status}},
         {{listed}}
    from (select id as kin from pawl.instance
           where shard = s.shard and parent = @parent
          union
          select id from pawl.instance
           where shard = s.shard and root = @root offset 0) f
   cross join lateral (
     select * from pawl.instance
      where shard = s.shard and id = f.kin offset 0) t
   where deleted_at is null
     and (@parent is null or parent = @parent)
     and (@root is null or root = @root)
     and (@workflow is null or workflow = @workflow)
     and (@version is null or version = @version)
     and (@tenant is null or tenant = @tenant)
     and (@correlation is null or correlation = @correlation)
     and (@business_key is null or business_key = @business_key)
     and (@key is null or key = @key)
     and (@before is null or id < @before)
   order by id desc limit @max) i;
