-- luacheck: no max line length (texts are as they stand)
--- Faults of one line, each planted alone in a copy of the tree: the specs
--- named beside it must see it (`./dev mutants`). A fault that no spec can see
--- has `equivalent`, which says why.
---
---@class spec.Mutant
---@field name string      unique; what the faulty program does
---@field file string      where
---@field from string      text that stands there exactly once
---@field to string        what stands there instead
---@field specs string[]   spec files, or C test programs ("retry_test")
---@field few boolean?     one of those that are run for every change
---@field equivalent string?  why nothing could see it

---@type spec.Mutant[]
return {
  -- ---- leases, claims, commits ----
  { name = "a claim takes what others hold",
    file = "sql/sqlite/agenda.sql",
    from = [[where shard = @shard and instance = @id and (ready or due_at <= @now)
{{claimed}}]],
    to = [[where shard = @shard and instance = @id
{{claimed}}]],
    specs = { "spec/engine/protocol_spec.lua", "spec/engine/cancel_spec.lua" } },
  { name = "a commit does not ask for its lease", few = true,
    file = "sql/shared/agenda.sql",
    from = [[   where shard = @shard and instance = s.id and lease = s.lease
     and (s.latch is null or latch = s.latch) for update) a;]],
    to = [[   where shard = @shard and instance = s.id and (lease = s.lease or true)
     and (s.latch is null or latch = s.latch) for update) a;]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/work/executors_spec.lua" } },
  { name = "a commit overlooks the latch",
    file = "src/engine/work/batch.c",
    from = [[
return p->after == PAWL_AFTER_END || p->after == PAWL_AFTER_FORGET ||
         p->needs_latch;]],
    to = "return p->after == PAWL_AFTER_FORGET && p->needs_latch;",
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua", "spec/engine/wait_spec.lua" } },
  { name = "a wake-up during a commit is forgotten",
    file = "sql/sqlite/agenda.sql",
    from = [[       latch = case when latch = @seen then 0 else latch end,
       ready = latch <> @seen or @due_at <= @now,]],
    to = [[       latch = 0,
       ready = @due_at <= @now,]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua", "spec/engine/wait_spec.lua" } },
  { name = "a takeover is not counted",
    file = "sql/sqlite/agenda.sql",
    from = [[       takeovers = takeovers + (lease is not null),
       due_at = @now + @lease_us
 {{claim_from]],
    to = [[       due_at = @now + @lease_us
 {{claim_from]],
    specs = { "spec/engine/work/executors_spec.lua",
      "spec/engine/protocol_spec.lua" } },
  { name = "a commit does not end suspicion",
    file = "sql/sqlite/agenda.sql",
    from = "set takeovers = 0, latch = case when latch",
    to = "set latch = case when latch",
    specs = { "spec/engine/work/executors_spec.lua" } },
  { name = "suspected poison runs beside others",
    file = "src/engine/work/refill.c",
    from = "return pawl_alone_lets_in(e) && e->nflights",
    to = "return e->nflights",
    specs = { "spec/engine/work/alone_spec.lua" } },
  { name = "what dies beside suspected poison that waits is held against it",
    file = "src/engine/work/alone.c",
    from = "e->alone->d.takeovers - 1",
    to = "e->alone->d.takeovers",
    specs = { "spec/engine/work/alone_spec.lua" } },
  { name = "suspected poison that goes on is held to be innocent",
    file = "src/engine/work/alone.c",
    from = "MUST(count_takeovers(e, e->alone->d.takeovers, err));",
    to = "",
    specs = { "spec/engine/work/alone_spec.lua" } },
  { name = "one that rests is called, and the tick ends before it goes on",
    file = "src/engine/work/rounds.c",
    from = " && !e->alone_is_called)",
    to = ")",
    specs = { "spec/engine/work/alone_spec.lua" } },
  { name = "a letter interrupts what came before it inside",
    file = "src/rules/interrupt.c",
    from = "if (may_take(d, k, l) && pawl_boundary_waits(d, k, l->received_us))",
    to = "if (0 && may_take(d, k, l) && pawl_boundary_waits(d, k, l->received_us))",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "a time interrupts what came before it inside",
    file = "src/rules/interrupt.c",
    from = "if (!is_beside(pawl_tok_node(d, k))) return 0;",
    to = "if (!is_beside(pawl_tok_node(d, k)) || !pawl_tok_node(d, k)->event) return 0;",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "what comes does not let others go first",
    file = "src/rules/interrupt.c",
    from = "if (was_first(d, k, before_us)) return is_patient(d);\n  return 0;",
    to = "(void)before_us;\n  return 0;",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "a lane comes before what happened inside earlier",
    file = "src/rules/interrupt.c",
    from = "return node && node->host >= 0;",
    to = "return node && node->host >= 0 && node->interrupts;",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "what goes on from an each has lost its place",
    file = "src/rules/order.c",
    from = "if (us > pawl_order_place(pawl_tok(d, to))) pawl_order_note(d, to, us);",
    to = "(void)us, (void)to;",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "what is beside a fork has no place",
    file = "src/rules/order.c",
    from = "d->plan.state.tokens.n > 1 ||\n      is_followed(d, happened_us))",
    to = "(0 && is_followed(d, happened_us)))",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "who is alone has no place, whatever comes behind",
    file = "src/rules/order.c",
    from = "d->letters[d->nletters - 1].received_us > happened_us);",
    to = "d->letters[d->nletters - 1].received_us < happened_us);",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "what lies there for an item is behind what led to its each",
    file = "src/rules/kinds/each.c",
    from = "  forget_place(d, k, visit);",
    to = "  (void)forget_place, (void)visit;",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "a letter changes variables when that is seen",
    file = "src/rules/letters.c",
    from = "pawl_conditions_look(d, d->letters[i].received_us);",
    to = "pawl_conditions_look(d, 0);",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "a step changes variables when that is seen",
    file = "src/rules/decide.c",
    from = "pawl_conditions_look(d, first < PAWL_NEVER ? first : 0);",
    to = "pawl_conditions_look(d, 0);",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "an each changes variables when that is seen",
    file = "src/rules/kinds/each.c",
    from = "pawl_conditions_look(d, at_us); /* Q6 */",
    to = "(void)at_us;",
    specs = { "spec/engine/late_spec.lua" } },
  { name = "a task's later time wins when both have passed",
    file = "src/rules/kinds/task.c",
    from = "const int64_t until = t->due_us;",
    to = "const int64_t until = pawl_decision_now(d);",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "a join that waits for all is settled behind all letters",
    file = "src/rules/kinds/join.c",
    from = "if (node->expect || is_settled_soon(d)) return 1;",
    to = "if (node->expect) return 1;",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "what nobody could ask about is too late when somebody may",
    file = "src/rules/condition.c",
    from = "else if (how == PAWL_ASKS_NOW)\n      store(d, k, at_us);",
    to = "",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "nothing is interrupted behind one that goes round",
    file = "src/rules/interrupt.c",
    from = "pawl_order_may_run(&all->at[k], first) && is_in_the_way(d, k))",
    to = "pawl_order_may_run(&all->at[k], first) && is_in_the_way(d, k) && 0)",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "times go on behind a letter that is held",
    file = "src/rules/decide.c",
    from = "if (!d->plan.holds) pawl_times_out(d, until, 0);",
    to = "pawl_times_out(d, until, 0);",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "a lost claim is forgotten",
    file = "src/engine/work/claim.c",
    from = "if (rc == PAWL_UNREACHABLE) remember_lost(e, c);",
    to = "(void)remember_lost;",
    specs = { "spec/engine/refused_spec.lua",
      "spec/engine/protocol_spec.lua", "spec/crash/lost_spec.lua" } },
  { name = "a lost claim loses its place",
    file = "sql/sqlite/agenda.sql",
    from = [[
   set lease = null, executor = was_executor, ready = 1,
       due_at = was_due_at]],
    to = [[
   set lease = null, executor = was_executor, ready = 1,
       due_at = @now]],
    specs = { "spec/engine/refused_spec.lua",
      "spec/engine/protocol_spec.lua" } },
  { name = "leases are not renewed",
    file = "src/engine/work/claim.c",
    from = [[
if (!force && soonest - now > e->config.lease_us * 2 / 3) return PAWL_OK;]],
    to = "if (!force) return PAWL_OK;",
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/work/await_spec.lua",
      "spec/engine/work/executors_spec.lua" } },
  { name = "a lost answer counts as landed", few = true,
    file = "src/engine/work/commit.c",
    from = [[
            pawl_id_eq(last.lease, &h->lease) &&
            last.commits == h->d.commits + 1;]],
    to = [[
            pawl_id_eq(last.lease, &h->lease);]],
    specs = { "spec/engine/protocol_spec.lua", "spec/crash/lost_spec.lua" } },
  { name = "another's commit counts as ours",
    file = "src/engine/work/commit.c",
    from = [[
            pawl_id_eq(last.lease, &h->lease) &&
            last.commits == h->d.commits + 1;]],
    to = [[
            last.commits == h->d.commits + 1;]],
    specs = { "spec/engine/work/commit_spec.lua",
      "spec/engine/protocol_spec.lua", "spec/crash/lost_spec.lua" } },
  { name = "an unanswered commit is sent under its old lease",
    file = "src/engine/work/commit.c",
    from = [[
    h->lease = fresh;
    return PAWL_OK;]],
    to = "    return PAWL_OK;",
    specs = { "spec/engine/protocol_spec.lua", "spec/crash/lost_spec.lua" } },
  { name = "one bad plan takes its batch along",
    file = "src/engine/work/commit.c",
    from = "  if (n == 1) return refuse_one(e, list[0], depth, err);",
    to = "  if (n >= 1) return refuse_one(e, list[0], depth, err);",
    specs = { "spec/engine/protocol_spec.lua", "spec/engine/steps_spec.lua",
      "spec/engine/values_spec.lua" } },
  { name = "a busy store is not asked again",
    file = "src/engine/work/commit.c",
    from = "if (rc != PAWL_BUSY || !may_try_again(e, try)) break;",
    to = "break;",
    specs = { "spec/engine/refused_spec.lua",
      "spec/engine/busy_spec.lua" } },
  { name = "a commit that fails for its time is taken for a refusal",
    file = "src/engine/work/commit.c",
    from = [[return err->code == PAWL_STORE && (!strncmp(err->sqlstate, "22", 2) ||]],
    to = [[return err->code == PAWL_STORE || (!strncmp(err->sqlstate, "22", 2) ||]],
    specs = { "spec/engine/protocol_spec.lua", "spec/crash/disk_spec.lua",
      "spec/engine/busy_spec.lua" } },
  { name = "plain plans forget what came in",
    file = "src/engine/work/plain.c",
    from = [[return h->d.state.status == PAWL_STATUS_RUNNING && !h->d.takeovers &&]],
    to = [[return h->d.state.status == PAWL_STATUS_RUNNING &&]],
    specs = { "spec/engine/work/executors_spec.lua" } },
  { name = "a plain end overlooks its latch",
    file = "sql/sqlite/agenda.sql",
    from = [[
-- every: row
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen;]],
    to = [[
-- every: row
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease
   and @seen = @seen;]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua",
      "spec/engine/decision_spec.lua" } },
  { name = "a sleeping row is dropped though it was woken",
    file = "sql/sqlite/agenda.sql",
    from = [[
-- name: agenda_end
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen;]],
    to = [[
-- name: agenda_end
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease
   and @seen = @seen;]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua", "spec/engine/wait_spec.lua" } },
  { name = "a commit overwrites a newer one",
    file = "sql/sqlite/fragments.sql",
    from = [[and case when commits = @commits and status = @was]],
    to = [[and case when @commits = @commits and status = @was]],
    specs = { "spec/engine/protocol_spec.lua" },
    equivalent = "the lease id that the statement joins on is drawn afresh at "
      .. "each claim, and the commits are loaded under it: it is a second fence" },
  { name = "what another took is run to its end",
    file = "src/engine/work/commit.c",
    from = [[
    if (k < 0) {
      again[nagain++] = list[i];
      continue;
    }
    stored(]],
    to = [[
    if (k < 0) k = 0;
    if (rows->nrows == 0) {
      again[nagain++] = list[i];
      continue;
    }
    stored(]],
    specs = { "spec/engine/protocol_spec.lua", "spec/crash/fence_spec.lua" } },

  -- ---- handlers side by side ----
  { name = "what was changed beside a handler is overwritten", few = true,
    file = "src/rules/merge.c",
    from = "if (!d->base.at || !r->vars_changed || pawl_str_eq(d->base, now))",
    to = "if (!d->base.at || !r->vars_changed || r->vars_changed)",
    specs = { "decide_test", "rules_test" } },
  { name = "a variable that two have taken away is no conflict",
    file = "src/rules/merge.c",
    from = "return has_key(t->set, key) || has_text(t->unset, key);",
    to = "return has_key(t->set, key);",
    specs = { "rules_test" } },
  { name = "a token whose handler waits runs again",
    file = "src/rules/decide.c",
    from = "         !pawl_is_aloft(d, t);",
    to = "         (1 || !pawl_is_aloft(d, t));",
    specs = { "decide_test", "rules_test" } },
  { name = "a node undoes while handlers wait",
    file = "src/rules/decide.c",
    from = "if (!d->naloft) pawl_undo_begin_part(d, k);",
    to = "pawl_undo_begin_part(d, k);",
    specs = { "decide_test", "spec/engine/side_by_side_spec.lua" } },
  { name = "a handler whose token is gone waits on",
    file = "src/engine/work/flight.c",
    from = "if (!stands(h, f)) abandon(e, f);",
    to = "if (0 && !stands(h, f)) abandon(e, f);",
    specs = { "spec/engine/side_by_side_spec.lua" } },
  { name = "what is due beside handlers that wait is not looked at",
    file = "src/engine/work/await.c",
    from = "if (pawl_engine_now(e) < beside(e, h)) return 0;",
    to = "if (h->beside_us || beside(e, h)) return 0;",
    specs = { "spec/engine/side_by_side_spec.lua" } },

  -- ---- letters and requests ----
  { name = "a request that is sent again is put there whoever took it",
    file = "sql/shared/inbox.sql",
    from = "                      and request = @no)",
    to = "                      and request = @no and false)",
    specs = { "spec/engine/act/request_spec.lua" } },
  { name = "a refusal is nobody's",
    file = "src/rules/letters.c",
    from = [[
  note_request(r, l);
}]],
    to = [[
  r->has_request = 0;
}]],
    specs = { "spec/engine/act/request_spec.lua" } },
  { name = "the answer to a first sending is not looked for",
    file = "src/engine/act/request.c",
    from = "  if (r->again) *seq = 0;",
    to = "",
    specs = { "spec/engine/act/request_spec.lua" } },
  { name = "an edit ignores the commits it was made for",
    file = "src/rules/letters.c",
    from = [[if (if_commits >= 0 && if_commits != d->commits) {]],
    to = [[if (if_commits < -1) {]],
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "a resume does not shift times",
    file = "src/rules/letters.c",
    from = [[if (is_set(l, "shift", 0) && since)]],
    to = [[if (is_set(l, "shift", 0) && !since)]],
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "a retry keeps the attempts",
    file = "src/rules/letters.c",
    from = [[
    if (pawl_detail_of(t)->halted.len) continue; /* it has not failed */
    t->attempt = 0;]],
    to = "    if (pawl_detail_of(t)->halted.len) continue;",
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "a retry of one token retries all",
    file = "src/rules/letters.c",
    from = "return pawl_token_is_live(t->state) && (!no || t->no == no);",
    to = "return pawl_token_is_live(t->state) && (no >= 0);",
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "a cancel during undoing begins it anew",
    file = "src/rules/letters.c",
    from = [[  else if (ends)
    refuse(d, l,
           cleans]],
    to = [[  else if (ends && !d->def)
    refuse(d, l,
           cleans]],
    specs = { "spec/engine/compensate_spec.lua",
      "spec/engine/cancel_spec.lua" } },
  { name = "a kill undoes",
    file = "src/rules/letters.c",
    from = [[end_cancelled(d, l, "killed", NULL, 0);]],
    to = [[end_cancelled(d, l, "killed", NULL, 1);]],
    specs = { "spec/engine/compensate_spec.lua",
      "spec/engine/act/change_spec.lua" } },
  { name = "a cancelled ending still tells its parent that it completed",
    file = "src/rules/letters.c",
    from = [[
    last = p->effects[--p->neffects]; /* slots keep their buffers */]],
    to = [[
    if (p) continue;
    last = p->effects[--p->neffects]; /* slots keep their buffers */]],
    specs = { "spec/engine/child_spec.lua" } },
  { name = "requests to what has ended are dropped unheard",
    file = "src/rules/letters.c",
    from = [[
      refuse(d, l, why);
      pawl_letter_taken(d, l);]],
    to = "      pawl_letter_taken(d, l);",
    specs = { "spec/engine/again_spec.lua" } },
  { name = "a wake reaches children's timeouts unasked",
    file = "src/rules/letters.c",
    from = "      pawl_kind_of(d, node)->has_children &&",
    to = "      !pawl_kind_of(d, node)->has_children &&",
    specs = { "spec/engine/again_spec.lua" } },

  -- ---- events and waits ----
  { name = "a star takes several segments", few = true,
    file = "src/rules/events.c",
    from = [[return dot == NULL;]],
    to = [[return dot == NULL || len > 0;]],
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua" } },
  { name = "a kept event of more segments is found for a star",
    file = "sql/sqlite/fragments.sql",
    from = [[
             and instr(substr(name, length(@prefix) + 1), '.') = 0))
    and (@taker is null]],
    to = [[
             and length(name) > 0))
    and (@taker is null]],
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua" },
    equivalent = "what is found is matched by its name once more before a wait "
      .. "takes it (pawl_event_matches)" },
  { name = "a wait takes an event of another key",
    file = "src/rules/events.c",
    from = [[return pawl_str_eq(key, pawl_buf_str(&l->key));
}]],
    to = [[

return key.len == l->key.len;
}]],
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua" } },
  { name = "who has dealt with an event is not free again",
    file = "src/rules/kinds/wait.c",
    from = "if (received && !pawl_is_over(d)) free_others(d, l);",
    to = "if (received && !n) free_others(d, l);",
    specs = { "spec/engine/enter/assign_spec.lua" } },
  { name = "what was assigned once is not assigned again",
    file = "src/engine/enter/assign.c",
    from = "if (!there || !v.key.len) goto out;",
    to = "if (!there || v.key.len) goto out;",
    specs = { "spec/engine/enter/assign_spec.lua" } },
  { name = "an event that is had already marks who is told again",
    file = "sql/shared/subscription.sql",
    from = [[
                where shard = @shard and instance = @id and no = @no
                  and not taken);]],
    to = [[
                where shard = @shard and instance = @id
                  and (no = @no or taken));]],
    specs = { "spec/engine/enter/assign_spec.lua" } },
  { name = "an event that came too late ends the wait",
    file = "src/rules/kinds/wait.c",
    from = "(t->due_us && l->received_us > t->due_us) ||",
    to = "",
    specs = { "spec/engine/wait_spec.lua" } },
  { name = "match is asked again about what it refused",
    file = "src/rules/kinds/wait.c",
    from = [[
        was_asked(t, l))
      continue;]],
    to = [[
        (was_asked(t, l), 0))
      continue;]],
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua" } },
  { name = "a blind wait takes what is newer than what is kept",
    file = "src/rules/events.c",
    from = "t->blind |= key != NULL;",
    to = "t->blind |= 0;",
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua",
      "spec/engine/protocol_spec.lua" } },
  { name = "an expired event is found",
    file = "sql/sqlite/fragments.sql",
    from = [[
    and expires_at > @now
  order by received_at, came limit @max]],
    to = [[
    and @now = @now
  order by received_at, came limit @max]],
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua", "spec/engine/kept_spec.lua" } },
  { name = "an event sent twice counts twice",
    file = "sql/sqlite/event.sql",
    from = [[
  select 1 from pawl_event where shard = @shard and tenant = @tenant
     and source = @source and id = @id and expires_at > @now);]],
    to = [[
  select 1 from pawl_event where shard = @shard and tenant = @tenant
     and source = @source and id = @id and expires_at < @now);]],
    specs = { "spec/engine/enter/signal_spec.lua" } },
  { name = "what is not posted is thrown away",
    file = "sql/sqlite/event.sql",
    from = [[
where shard = @shard and expires_at <= @now and posted
]],
    to = [[
where shard = @shard and expires_at <= @now
]],
    specs = { "spec/engine/left_spec.lua" } },
  { name = "an event reaches instances that have ended",
    file = "sql/shared/inbox.sql",
    from = [[
     and status in ('running', 'waiting', 'suspended')
     and (trigger_event is null]],
    to = [[
     and (trigger_event is null]],
    specs = { "spec/engine/enter/signal_spec.lua",
      "spec/engine/cancel_spec.lua" } },
  { name = "an answer that was lost halves the count",
    file = "src/engine/enter/signal.c",
    from = "if (rc == PAWL_OK && lost) *reached = before + n;",
    to = "(void)before;",
    specs = { "spec/engine/enter/signal_spec.lua", "spec/crash/lost_spec.lua",
      "spec/engine/protocol_spec.lua" } },

  -- ---- forks, joins, eaches ----
  { name = "an all join fires at the first",
    file = "src/rules/kinds/join.c",
    from = [[      g->coming += may_come(d, k, g) &&]],
    to = [[      g->coming += may_come(d, k, g) && g->arrived > 9 &&]],
    specs = { "spec/engine/fork_spec.lua" } },
  { name = "a join takes more than its number",
    file = "src/rules/kinds/join.c",
    from = "int n = expect && expect < g->arrived ? (int)expect : g->arrived;",
    to = "int n = g->arrived + 0 * (int)expect;",
    specs = { "spec/engine/order_spec.lua" } },
  { name = "of two that arrive together the later one leads",
    file = "src/rules/kinds/join.c",
    from = "return x->visit < y->visit ? -1 : x->visit > y->visit;",
    to = "return x->visit < y->visit ? 1 : -(x->visit > y->visit);",
    specs = { "spec/engine/guards_spec.lua", "spec/engine/each_spec.lua" } },
  { name = "losers of a race go on",
    file = "src/rules/kinds/join.c",
    from = [[      pawl_token_end(d, k, "others reached the join first");]],
    to = [[      if (!node) pawl_token_end(d, k, "others reached the join first");]],
    specs = { "spec/engine/fork_spec.lua" } },
  { name = "an each ends with one item less",
    file = "src/rules/kinds/each.c",
    from = [[  count_ended(d, parked, PAWL_DETAIL_done);]],
    to = [[  count_ended(d, parked, PAWL_DETAIL_done);
  if (no == 1)
    pawl_detail_set(pawl_tok(d, parked), PAWL_DETAIL_done,
                    pawl_detail_of(pawl_tok(d, parked))->done + 1);]],
    specs = { "spec/engine/each_spec.lua" } },
  { name = "an each goes beyond its window",
    file = "src/rules/kinds/each.c",
    from = [[
no < node->window && pawl_json_walk(items, &it); no++)]],
    to = "no <= node->window && pawl_json_walk(items, &it); no++)",
    specs = { "spec/engine/each_spec.lua" } },
  { name = "one failed item does not end an each",
    file = "src/rules/kinds/each.c",
    from = "  if (of->failed <= most) {",
    to = "  if (of->failed <= most || no) {",
    specs = { "spec/engine/each_spec.lua" } },
  { name = "an each that has enough takes results that come behind it",
    file = "src/rules/kinds/each.c",
    from = "if (pawl_detail_of(pawl_tok(d, k))->enough) return;",
    to = "if (0) return;",
    specs = { "spec/engine/each_early_spec.lua" } },
  { name = "a child's result reaches a later visit",
    file = "src/rules/letters.c",
    from = "    if (pawl_tok(d, k)->no == no && pawl_tok(d, k)->visit == visit &&",
    to = "    if (pawl_tok(d, k)->no == no &&",
    specs = { "spec/engine/child_spec.lua", "spec/engine/each_spec.lua" } },

  -- ---- retries and undoing ----
  { name = "one attempt too many", few = true,
    file = "src/rules/retry.c",
    from = "if (!f->no_retry && own < node->retry.max &&",
    to = "if (!f->no_retry && own <= node->retry.max &&",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "retry = false is tried again",
    file = "src/rules/retry.c",
    from = "if (!f->no_retry && own < node->retry.max &&",
    to = "if (own < node->retry.max &&",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "an error with a route is tried again first",
    file = "src/rules/retry.c",
    from = "return !f->routes || f->retry_after_us >= 0 ||",
    to = "return 1 || f->retry_after_us >= 0 ||",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "a policy that forbids a code is not heard",
    file = "src/rules/retry.c",
    from = "if (names(r->never, f->code)) return 0;",
    to = "",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "retry_after of zero is no word",
    file = "src/rules/retry.c",
    from = "*delay_us = f->retry_after_us >= 0",
    to = "*delay_us = f->retry_after_us > 0",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "an exhausted step fails where it should suspend",
    file = "src/rules/retry.c",
    from = "return node->suspend_exhausted || f->passes",
    to = "return f->passes",
    specs = { "spec/engine/retry_spec.lua" } },
  { name = "undoing skips a step at the edge of a page",
    file = "src/rules/compensate.c",
    from = [[if (planning || (!d->undo_last && !behind)) {]],
    to = [[if (planning || (!d->undo_last && behind < 0)) {]],
    specs = { "spec/engine/guards_spec.lua",
      "spec/engine/compensate_spec.lua" },
    equivalent = "a step that is passed makes its slot look, and the load "
      .. "brings the next page (wants_plan) together with the output without "
      .. "which nothing is undone: it is a second fence" },
  { name = "undoing ends with a full page",
    file = "src/engine/work/load.c",
    from = [[h->d.undo_last = w.over && w.n <= UNDO_PAGE;]],
    to = [[h->d.undo_last = w.n <= UNDO_PAGE;]],
    specs = { "spec/engine/compensate_spec.lua" } },
  { name = "a failed undo ends the others",
    file = "src/rules/compensate.c",
    from = [[    over = undo_failed(d, k, node, seq, err, began_us);]],
    to = [[    over = undo_failed(d, k, node, seq, err, began_us) ? 0 : 0;]],
    specs = { "spec/engine/compensate_spec.lua" } },
  { name = "an undo is not tried again",
    file = "src/rules/compensate.c",
    from = [[

    pawl_failure_note(d, k, &f);
    t->due_us = r->due_us = pawl_time_after(now, delay_us);
    d->plan.outcome]],
    to = [[

    t->attempt = f.attempt + 99;
    t->due_us = r->due_us = pawl_time_after(now, delay_us);
    d->plan.outcome]],
    specs = { "spec/engine/compensate_spec.lua" } },
  { name = "an undo sees no output",
    file = "src/rules/compensate.c",
    from = [[if (!output.len) output = pawl_strz("null");]],
    to = [[output = pawl_strz("null");]],
    specs = { "spec/engine/compensate_spec.lua" } },

  -- ---- what failed, escalations, moved times, breakpoints, progress ----
  { name = "what was caught is forgotten by the next step that goes well",
    file = "src/rules/caught.c",
    from = "pawl_detail_put(t, PAWL_DETAIL_error, pawl_buf_str(&changed));",
    to = "pawl_detail_drop(t, PAWL_DETAIL_error);",
    specs = { "spec/engine/caught_spec.lua" } },
  { name = "handlers are told for ever of what was caught",
    file = "src/rules/caught.c",
    from = "if (!error->len || pawl_json_get(pawl_buf_str(error), PAST, &past))",
    to = "if (!error->len || (pawl_json_get(pawl_buf_str(error), PAST, &past), 0))",
    specs = { "spec/engine/caught_spec.lua" } },
  { name = "a node that failed and is passed again keeps its old failure",
    file = "src/rules/caught.c",
    from = "if (own.len && pawl_str_eqz(pawl_buf_str(&own), node->name)) {",
    to = "if (0 && own.len) {",
    specs = { "spec/engine/caught_spec.lua" } },
  { name = "an escalation goes to the outermost boundary",
    file = "src/rules/escalate.c",
    from = "for (int at = t->depth - 1; at >= 0; at--) a.no[a.n++] = t->scope[at];",
    to = "for (int at = 0; at < t->depth; at++) a.no[a.n++] = t->scope[at];",
    specs = { "spec/engine/escalation_spec.lua" } },
  { name = "an escalation is taken, and told to the parent as well",
    file = "src/rules/escalate.c",
    from = "!taker && d->plan.after != PAWL_AFTER_END && tell_parent(d, token, &l);",
    to = "d->plan.after != PAWL_AFTER_END && tell_parent(d, token, &l);",
    specs = { "spec/engine/escalation_spec.lua" } },
  { name = "an escalation of a child that nobody took stays with its parent",
    file = "src/rules/escalate.c",
    from = "if (k >= 0 && tell_parent(d, pawl_tok(d, k)->no, l)) {",
    to = "if (0 && k >= 0) {",
    specs = { "spec/engine/escalation_spec.lua" } },
  { name = "a moved time counts from where its node began",
    file = "src/rules/reschedule.c",
    from = "if (l->received_us > from_us) from_us = l->received_us;",
    to = "",
    specs = { "spec/engine/reschedule_spec.lua" } },
  { name = "a time that cannot be worked out leaves what it was asked with",
    file = "src/rules/reschedule.c",
    from = "pawl_buf_swap(&d->plan.vars, &vars);",
    to = "",
    specs = { "spec/engine/reschedule_spec.lua" } },
  { name = "a timer that is put off is over when it would have been",
    file = "src/rules/reschedule.c",
    from = "pawl_stand(d, k, due_us);",
    to = "pawl_stand(d, k, pawl_tok(d, k)->due_us < due_us ? pawl_tok(d, k)->due_us : due_us);",
    specs = { "spec/crash/wait_spec.lua" } },
  { name = "a callback's token is another in each attempt",
    file = "src/engine/work/services.c",
    from = "const pawl_callback c = {h->d.id, call->visit, event};",
    to = "const pawl_callback c = {h->d.id, pawl_engine_now(e), event};",
    specs = { "spec/crash/wait_spec.lua" } },
  { name = "a callback's token may be completed again",
    file = "src/engine/enter/complete.c",
    from = [[pawl_member_str(&o, "id", token);]],
    to = "",
    specs = { "spec/crash/wait_spec.lua" } },
  { name = "a condition is not looked at by who takes over from who edits",
    file = "src/rules/condition.c",
    from = "pawl_detail_set(pawl_tok(d, k), PAWL_DETAIL_asks, PAWL_ASKS_STORED);",
    to = "",
    specs = { "spec/crash/wait_spec.lua" } },
  { name = "what was let go on at a breakpoint halts there again",
    file = "src/rules/breakpoint.c",
    from = "if (own->freed == t->attempt + 1) return 0; /* V6 */",
    to = "",
    specs = { "spec/engine/breakpoint_spec.lua" } },
  { name = "a breakpoint holds for ever",
    file = "src/rules/breakpoint.c",
    from = "t->due_us = s->until_us;",
    to = "t->due_us = 0;",
    specs = { "spec/engine/breakpoint_spec.lua" } },
  { name = "a breakpoint halts those of another workflow",
    file = "src/engine/work/breaks.c",
    from = "pawl_str_eq(b->workflow, pawl_buf_str(&h->d.workflow)) &&",
    to = "",
    specs = { "spec/engine/breakpoint_spec.lua",
      "spec/engine/work/breaks_spec.lua" } },
  { name = "a handler beside another forgets what it has said",
    file = "src/engine/work/services.c",
    from = "if (!pawl_tokens_folded(&h->d.state.tokens))",
    to = "if (0)",
    specs = { "spec/engine/progress_spec.lua" } },
  { name = "progress is another visit's",
    file = "sql/shared/instance.sql",
    from = "select case when i.progress_visit = @visit then i.progress",
    to = "select case when @visit > 0 then i.progress",
    specs = { "spec/engine/progress_spec.lua" } },

  -- ---- tasks ----
  { name = "two who change one task both win",
    file = "sql/shared/task.sql",
    from = [[ where shard = @shard and id = @id and commits = @commits
   and status = @was
   and not exists]],
    to = [[ where shard = @shard and id = @id and @commits = @commits
   and status = @was
   and not exists]],
    specs = { "spec/engine/guards_spec.lua" } },
  { name = "anybody claims a claimed task",
    file = "src/engine/act/tasks.c",
    from = "if (t->row.claimed_by.len) return is_taken(t, err);",
    to = "if (t->row.claimed_by.len && !t) return is_taken(t, err);",
    specs = { "spec/engine/act/tasks_spec.lua" } },
  { name = "a task is completed twice",
    file = "src/engine/act/tasks.c",
    from = [[
return t->status == PAWL_TASK_PENDING || t->status == PAWL_TASK_RUNNING;]],
    to = "return t->status != PAWL_TASK_FAILED;",
    specs = { "spec/engine/act/tasks_spec.lua" } },
  { name = "people may take a timeout's way",
    file = "src/engine/common/task.c",
    from = [[return strcmp(name, "overdue") != 0 &&]],
    to = [[return name != NULL &&]],
    specs = { "spec/engine/act/tasks_spec.lua" } },

  -- ---- suspending, children, delivery ----
  { name = "suspending a prefix takes its neighbours",
    file = "sql/shared/fragments.sql",
    from = [[
  or exists (select 1 from pawl.suspension p
              where p.is_prefix = true
                and left({{1}}, length(p.code)) = p.code)]],
    to = [[
  or exists (select 1 from pawl.suspension p
              where p.is_prefix = true
                and left({{1}}, length(p.code) - 1)
                  = left(p.code, length(p.code) - 1))]],
    specs = { "spec/engine/guards_spec.lua" } },
  { name = "a suspended workflow is claimed",
    file = "sql/sqlite/fragments.sql",
    from = [[   where {{unless_suspended w.value}}
]],
    to = "",
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "a message that failed for its time is dropped",
    file = "src/engine/work/deliver.c",
    from = "if (rc == PAWL_OK || !pawl_code_is_final(rc, err)) return rc;",
    to = "if (rc == PAWL_OK) return rc;",
    specs = { "spec/engine/work/deliver_spec.lua" } },
  { name = "a message that the store refuses for now is dropped",
    file = "src/engine/work/deliver.c",
    from = "if (rc == PAWL_OK || !pawl_code_is_final(rc, err)) return rc;",
    to = "if (rc == PAWL_OK || pawl_code_is_transient(rc)) return rc;",
    specs = { "spec/engine/work/deliver_spec.lua" } },
  { name = "messages of one store go out into the next",
    file = "src/engine/work/deliver.c",
    from = "pawl_store_stay(e->store, 1);",
    to = "pawl_store_stay(e->store, 0);",
    specs = { "spec/engine/work/deliver_spec.lua" } },
  { name = "a child that cannot start is not told of",
    file = "src/engine/work/deliver.c",
    from = "return pawl_birth_is_tracked(m)",
    to = "return !pawl_birth_is_tracked(m)",
    specs = { "spec/engine/child_spec.lua",
      "spec/engine/work/deliver_spec.lua" } },
  { name = "of children that start together none is refused",
    file = "src/engine/work/deliver.c",
    from = "if (!born[i]) MUST",
    to = "if (born[i] > 1) MUST",
    specs = { "spec/engine/work/births_spec.lua" } },
  { name = "only the first page of children ends",
    file = "src/engine/work/deliver.c",
    from = "  while (n == CHILDREN) {",
    to = "  for (int once = 1; once; once = 0) {",
    specs = { "spec/engine/child_spec.lua",
      "spec/engine/work/deliver_spec.lua", "spec/engine/each_spec.lua" } },
  { name = "only the first page of messages goes out",
    file = "src/engine/work/deliver.c",
    from = "while (n == PAGE && !kept && !e->deliver_more) {",
    to = "while (n == PAGE && !last && !kept && !e->deliver_more) {",
    specs = { "spec/engine/work/deliver_spec.lua",
      "spec/engine/each_spec.lua" } },

  -- ---- starting, patterns, values ----
  { name = "a key does not find its instance",
    file = "sql/shared/instance.sql",
    from = [[
       and key = @key
       and coalesce(tenant, '') = coalesce(@tenant, '')
       and deleted_at is null and successor is null), (]],
    to = [[
       and key = @key
       and tenant = @tenant
       and deleted_at is null and successor is null), (]],
    specs = { "spec/engine/enter/start_spec.lua" } },
  { name = "a start begins before its time",
    file = "src/rules/letters.c",
    from = [[

  if (!d->plan.state.visit && d->plan.state.begin_us)]],
    to = [[

  if (!d->plan.state.visit && !d->plan.state.begin_us)
]],
    specs = { "spec/engine/again_spec.lua" } },
  { name = "claims come in any order",
    file = "src/engine/work/claim.c",
    from = "if (other->priority > rows[k].priority ||",
    to = "if (other->priority >= 0 ||",
    specs = { "spec/engine/enter/start_spec.lua",
      "spec/engine/protocol_spec.lua", "spec/engine/steps_spec.lua" } },
  { name = "prefixes are not asked for",
    file = "src/engine/work/offers.c",
    from = [[
                           r->workflow.len))
    return PAWL_OK;]],
    to = [[
                           r->workflow.len))
    rc = PAWL_OK;]],
    specs = { "spec/engine/versions/register_spec.lua",
      "spec/engine/enter/start_spec.lua", "spec/engine/steps_spec.lua" } },
  { name = "a dead neighbour's leases stay", few = true,
    file = "src/engine/work/executors.c",
    from = "    if (pawl_process_is_gone(&e->self, &other))\n",
    to = "    if (k < 0 && pawl_process_is_gone(&e->self, &other))\n",
    specs = { "spec/engine/work/executors_spec.lua" } },

  -- ---- the other dialect ----
  { name = "on PostgreSQL a suspended workflow is claimed",
    file = "sql/postgres/fragments.sql",
    from = [[   where {{unless_suspended w.workflow}}
   order by a.priority desc, a.due_at limit {{2}}]],
    to = [[   order by a.priority desc, a.due_at limit {{2}}]],
    specs = { "spec/engine/act/change_spec.lua" } },
  { name = "on PostgreSQL a wake-up during a commit is forgotten",
    file = "sql/postgres/agenda.sql",
    from = [[       ready = a.latch <> s.seen or s.due_at <= coalesce(@now, now()),]],
    to = [[       ready = s.due_at <= coalesce(@now, now()),]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua" } },
  { name = "on PostgreSQL a sleeping row is dropped though it was woken",
    file = "sql/postgres/agenda.sql",
    from = [[     and latch = s.seen offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease
   and a.latch = s.seen;

-- name: agenda_stray]],
    to = [[     offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease;

-- name: agenda_stray]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua",
      "spec/engine/wait_spec.lua" } },
  { name = "on PostgreSQL a takeover is not counted",
    file = "sql/postgres/agenda.sql",
    from = [[       takeovers = a.takeovers + (a.lease is not null)::integer,
       due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.ctid = due.place]],
    to = [[       due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.ctid = due.place]],
    specs = { "spec/engine/work/executors_spec.lua",
      "spec/engine/protocol_spec.lua" } },
  { name = "on PostgreSQL a commit does not end suspicion",
    file = "sql/postgres/agenda.sql",
    from = [[   set takeovers = 0,
       latch = case when a.latch = s.seen then 0 else a.latch end
  from]],
    to = [[   set latch = case when a.latch = s.seen then 0 else a.latch end
  from]],
    specs = { "spec/engine/work/executors_spec.lua" } },
  { name = "a wake-up steals on either store",
    file = "sql/shared/fragments.sql",
    from = [[      ready = a.ready or a.lease is null,]],
    to = [[      ready = true,]],
    specs = { "spec/engine/protocol_spec.lua",
      "spec/engine/enter/signal_spec.lua",
      "spec/engine/cancel_spec.lua" } },
  { name = "on PostgreSQL an expired event is found",
    file = "sql/postgres/fragments.sql",
    from = [[
  and e.expires_at > coalesce(@now, now())]],
    to = "",
    specs = { "spec/engine/wait_spec.lua",
      "spec/engine/enter/signal_spec.lua",
      "spec/engine/kept_spec.lua" } },
  { name = "on PostgreSQL an event sent twice counts twice",
    file = "sql/postgres/event.sql",
    from = [[

 where e.expires_at <= excluded.received_at;

-- name: event_copy]],
    to = [[;

-- name: event_copy]],
    specs = { "spec/engine/enter/signal_spec.lua" } },
  { name = "on PostgreSQL what is not posted is thrown away",
    file = "sql/postgres/event.sql",
    from = [[   where shard = @shard and expires_at <= coalesce(@now, now()) and posted
]],
    to = [[   where shard = @shard and expires_at <= coalesce(@now, now())
]],
    specs = { "spec/engine/left_spec.lua" } },
  { name = "on PostgreSQL a horizon lies behind what is being sent",
    file = "sql/postgres/event.sql",
    from = [[pg_snapshot_xmin(pg_current_snapshot())]],
    to = [[pg_snapshot_xmax(pg_current_snapshot())]],
    specs = { "spec/engine/kept_spec.lua" } },

  -- ---- options ----
  { name = "an option that a kind cannot do without may be missing",
    file = "src/value/options.c",
    from = [[if (t->rows[i].needed >> r.kind & 1u && !(*(uint64_t *)o >> i & 1u))]],
    to = [[if (t->rows[i].needed >> r.kind & 0u && !(*(uint64_t *)o >> i & 1u))]],
    specs = { "options_test" } },
  { name = "a request takes the options of another kind",
    file = "src/value/options.c",
    from = [[return !row->kinds || row->kinds >> r->kind & 1u;]],
    to = [[return !row->kinds || row->kinds >> r->kind;]],
    specs = { "options_test" } },
  { name = "an option's number may be below its range",
    file = "src/value/options.c",
    from = [[pawl_json_int(value, &n) && n >= row->low && n <= highest(row);]],
    to = [[pawl_json_int(value, &n) && n <= highest(row);]],
    specs = { "options_test" } },
  { name = "an option that was given null counts as given",
    file = "src/value/options.c",
    from = [[if (row->shape != PAWL_OPTION_ANY &&
        pawl_json_kind_of(value) == PAWL_JSON_NULL)
      return PAWL_OK;]],
    to = [[if (row->shape == PAWL_OPTION_OBJECT &&
        pawl_json_kind_of(value) == PAWL_JSON_NULL)
      return PAWL_OK;]],
    specs = { "options_test" } },
  { name = "a purge leaves what nobody took in the inbox", few = true,
    file = "sql/shared/purge.sql",
    from = "{{delete_held inbox; true}};",
    to = "{{delete_held inbox; false}};",
    specs = { "spec/engine/act/prune_spec.lua",
      "spec/crash/torture_spec.lua" } },
  -- ---- a connection that is lent ----
  { name = "a connection is the program's behind its transaction, too",
    file = "src/store/store.c",
    from = "store->conn, may ? PAWL_LENT : PAWL_LENT_OVER, NULL, &err);",
    to = "store->conn, may ? PAWL_LENT : PAWL_LENT_NOT, NULL, &err);",
    specs = { "sqlite_test" } },
  { name = "a transaction that the program undid goes on",
    file = "src/store/sqlend.c",
    from = "if (sqlite3_get_autocommit(c->db)) /* G9 */",
    to = "if (0)",
    specs = { "sqlite_test" } },
  { name = "a statement that is halfway outlives its transaction",
    file = "src/store/sqlend.c",
    from = "if (sqlite3_stmt_busy(s))",
    to = "if (sqlite3_stmt_busy(s) < 0)",
    specs = { "sqlite_test" } },
  -- ---- files that change ----
  { name = "pawl dev has running instances go on with the old file",
    file = "lua/pawl/cli/dev.lua",
    from = [[if err.code == "exists" then]],
    to = [[if err.code == "never" then]],
    specs = { "spec/cli/dev_spec.lua" } },
}
