-- name: doctor_settings
-- Differs: of a file, as this connection has it open.
select 'auto_vacuum' as name, cast(a.auto_vacuum as text) as value
  from pragma_auto_vacuum() a
union all
select 'encoding', e.encoding from pragma_encoding() e
union all
select 'journal_mode', j.journal_mode from pragma_journal_mode() j
union all
select 'page_size', cast(p.page_size as text) from pragma_page_size() p
union all
select 'synchronous', cast(s.synchronous as text) from pragma_synchronous() s
 order by 1;
