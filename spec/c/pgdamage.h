/* pgdamage.h: cells of a PostgreSQL store changed to what their types take. */
#ifndef PAWL_SPEC_PGDAMAGE_H
#define PAWL_SPEC_PGDAMAGE_H

#include <inttypes.h>

#include "pgbase.h"

/* One to four cells, or rows that are gone; drawn from the seed. What a
 * constraint refuses stays as it was. The value of a cell is one that its type
 * begins or ends with, or what stood there with a number or a word of it
 * changed. The agenda is due then, three times in four, so that a worker looks
 * at the instance. */
static const char PGDAMAGE[] =
    "do $d$\n"
    "declare\n"
    "  tables text[] := '{instance,token,agenda,item,history,subscription,"
    "task,owner,attribute,variable,event,inbox,outbox,message,workflow,meta,"
    "trigger}';\n"
    "  numbers text[] := '{0,-1,1,2,3,255,32767,65536,2147483647,"
    "-2147483648,4294967296,9223372036854775807,-9223372036854775808}';\n"
    "  jsons text[] := array['{}', '[]', 'null', '1', '\"x\"', '{\"a\":1}', "
    "'[[]]', '{\"a\":1,\"a\":2}', '1e999', '\"\\u00e9\"', "
    "'99999999999999999999', repeat('[', 90) || repeat(']', 90)];\n"
    "  texts text[] := array['', 'x', '%%s%%n', 'waiting', 'completed', "
    "'consumed', '{', E'\\n', 'z', 'eb', repeat('x', 3000), '1.1'];\n"
    "  t text; c record; k text; v text; r integer;\n"
    "begin\n"
    "  perform setseed(%s);\n"
    "  for i in 1 .. 1 + floor(random() * 4)::integer loop\n"
    "    t := tables[1 + floor(random() * 17)];\n"
    "    select attname as name, format_type(atttypid, -1) as type into c\n"
    "      from pg_attribute where attrelid = ('pawl.' || t)::regclass\n"
    "       and attnum > 0 and not attisdropped order by random() limit 1;\n"
    "    execute format('select ctid::text, %%I::text from pawl.%%I '\n"
    "      'order by random() limit 1', c.name, t) into k, v;\n"
    "    continue when k is null;\n"
    "    r := floor(random() * 1000);\n"
    "    v := case\n"
    "      when r < 80 then null\n"
    "      when c.type in ('smallint', 'integer', 'bigint') then\n"
    "        case when r < 400 then (v::numeric + 1)::text\n"
    "        else numbers[1 + r %% 13] end\n"
    "      when c.type = 'uuid' then md5(random()::text)\n"
    "      when c.type = 'boolean' then (not v::boolean)::text\n"
    "      when c.type like 'timestamp%%' then\n"
    "        (array['infinity', '-infinity', 'epoch', '0001-01-01', "
    "'294276-12-31', '2027-01-15'])[1 + r %% 6]\n"
    "      when c.type in ('numeric', 'double precision') then\n"
    "        (array['NaN', '0', '-1', '1e300'])[1 + r %% 4]\n"
    "      when r < 500 and v ~ '[0-9]' then\n"
    "        regexp_replace(v, '[0-9]+', numbers[1 + r %% 13])\n"
    "      when r < 650 and v ~ '[a-z]' then\n"
    "        regexp_replace(v, '[a-z_]+', texts[1 + r %% 12])\n"
    "      when c.type like 'json%%' then jsons[1 + r %% 12]\n"
    "      else texts[1 + r %% 12] end;\n"
    "    begin\n"
    "      if random() < 0.07 then\n"
    "        execute format('delete from pawl.%%I where ctid = %%L', t, k);\n"
    "      else\n"
    "        execute format('update pawl.%%I set %%I = %%L::%%s '\n"
    "          'where ctid = %%L', t, c.name, v, c.type, k);\n"
    "      end if;\n"
    "    exception when others then null;\n"
    "    end;\n"
    "  end loop;\n"
    "  if random() < 0.75 then\n"
    "    update pawl.agenda set due_at = 'epoch', ready = true,\n"
    "      lease = null;\n"
    "  end if;\n"
    "end $d$";

static inline void pgdamage(const char *database, uint64_t seed) {
  char sql[sizeof PGDAMAGE + 40], draw[32];
  snprintf(draw, sizeof draw, "%.9f",
           (double)(seed * UINT64_C(2654435761) % 1000003) / 1000003);
  snprintf(sql, sizeof sql, PGDAMAGE, draw);
  pgbase_sql(database, sql);
}

#endif
