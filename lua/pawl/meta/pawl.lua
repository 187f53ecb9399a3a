---@meta pawl
-- Types of everything that `require "pawl"` gives, for editors that know
-- LuaCATS. Never loaded at run time; a spec compares it with what is there.
-- luacheck: ignore 241 631

---@alias pawl.Status
---| "created"|"running"|"waiting"|"suspended"|"completed"|"failed"|"cancelled"

---@class pawl
---@field _VERSION string   "pawl 0.1.0"
---@field null lightuserdata  JSON's null, the same as cjson.null
---@field json pawl.Json
local pawl = {}

---@class pawl.Json
local json = {}

--- JSON text, exact: integers and floats stay apart, keys in byte order.
---@param value any
---@return string? text
---@return pawl.Error? err  code "value", `where` is the path
function json.encode(value) end

--- What a JSON text holds.
---@param text string
---@return any value  nil only with err; null is pawl.null
---@return pawl.Error? err
function json.decode(text) end

--- The version of the library: "0.1.0".
---@return string
function pawl.version() end

--- Marks a table as a JSON array, so that an empty one stays one.
---@generic T
---@param t? T[]
---@return T[]
function pawl.array(t) end

--- An exact decimal number for attributes: pawl.decimal "12.50".
---@param value string|integer
---@return pawl.Typed
function pawl.decimal(value) end

--- A point in time for attributes: text in UTC, or seconds since 1970.
---@param value string|number
---@return pawl.Typed
function pawl.date(value) end

--- Bytes for attributes.
---@param bytes string
---@return pawl.Typed
function pawl.binary(bytes) end

--- Seconds since 1970 of a time as the engine tells it; nil: it is none.
---@param value string|pawl.Typed  "2026-01-31T10:00:00.000000Z", or a pawl.date
---@return number? seconds
function pawl.time(value) end

--- Game time, for the option `clock` of pawl.open.
---@class pawl.GameClock
---@field speed number  game seconds in one of the system's
---@operator call: number
local GameClock = {}

--- What time it is.
---@return number seconds  since 1970
function GameClock:now() end

--- How much time has passed by it, of which only differences mean anything:
--- nothing of what it was set by. By that handlers wait.
---@return number seconds
function GameClock:passed() end

--- Sets it. What is due by a later time is due with the next tick, each thing
--- once; set back, nothing is undone, and what was to come comes at its time.
--- Handlers that wait have waited no longer for it.
---@param now number     seconds since 1970
---@param speed? number  0 pauses; as it was
function GameClock:set(now, speed) end

--- A clock that stands, passes slower or faster than the system's, and is what
--- it was set to.
---@param now? number    seconds since 1970; 0
---@param speed? number  game seconds in one of the system's; 1
---@return pawl.GameClock
function pawl.game_clock(now, speed) end

--- Begins a workflow; its nodes are added with its methods. Events start and
--- cancel instances of it by two options, each a name, a pattern or rules:
---   trigger = "order.placed"
---   cancel_on = { { event = "order.withdrawn", key = "order" }, "shop.*" }
---@param options pawl.WorkflowOptions
---@return pawl.Workflow
function pawl.workflow(options) end

--- Opens a store. Wrong options raise; what the store says is returned.
---@param url? string  "pawl.db" (default), "sqlite:PATH", ":memory:",
---                    "postgres://..."
---@param options? pawl.OpenOptions
---@return pawl.Engine? engine
---@return pawl.Error? err
function pawl.open(url, options) end

--- Brings a store's schema up to this version. `shards` is the number of a
--- store that is made by this; for one that is there with another: "invalid".
---@param url? string
---@param options? { shards?: integer, pooler?: boolean, schema?: string }
---@return { from: integer, to: integer, shards: integer }? report
---@return pawl.Error? err
function pawl.migrate(url, options) end

--- What `migrate` would do, for somebody else to do by hand, all of it in one
--- transaction: changes nothing. A SQLite file need not be there.
---@param url? string
---@param options? { shards?: integer, pooler?: boolean, schema?: string }
---@return pawl.Migrations? found
---@return pawl.Error? err
function pawl.migrations(url, options) end

--- What is known to be wrong with the libraries that this process runs with
--- and, where a store is named, with its server; and what guards against it.
---@param url? string  none: of the libraries alone
---@param options? { pooler?: boolean, schema?: string }
---@return pawl.Doctor? report
---@return pawl.Error? err
function pawl.doctor(url, options) end

---@class pawl.Doctor
---@field pawl string
---@field sound boolean  nothing that is known is open
---@field libraries { name: string, version?: string, options: string[] }[]
---@field store? { kind: string, name: string, version?: string, settings?: table<string, string>, error?: pawl.Error }
---@field findings { id: string, of: string, state: "guarded"|"rare"|"open", text: string, guard: string, fixed?: string, source: string }[]

--- Answers a handler's ctx.host.NAME(value), which gets what it gives first. With
--- "wait" behind that it is under way: the handler waits, as in ctx.await, and the
--- function is asked again in each tick. Anything else behind it, and what it
--- raises, is an error of the handler's: text, or { code =, message =, retry = false
--- (it is refused for good) }. Values
--- cross as JSON does, also where both sides are Lua.
---@alias pawl.HostFunction fun(value: any, call: pawl.HostCall): any, any

---@class pawl.HostCall
---@field name string
---@field instance string
---@field workflow string
---@field node string
---@field attempt integer
---@field key string      of this call: the same in every attempt, if those before
---                       it in the handler are
---@field again boolean   it was said to wait: what of it?
---@field gone boolean    the same, and nobody waits any more: its answer is not
---                       heard

---@class pawl.Migrations
---@field store string       "postgres" or "sqlite": whose SQL it is
---@field schema? string     of PostgreSQL
---@field from integer       which the store has; 0: it is empty
---@field to integer         which it will have
---@field shards integer
---@field migrations { number: integer, name: string, breaking: boolean, sql: string }[]

---@class pawl.OpenOptions
---@field clock? fun(): number      seconds since 1970; tests and games
---@field passed? fun(): number     beside a clock that may be set: seconds that
---                                 go as it does, and not with what it is set
---                                 by; by them handlers wait. Of
---                                 pawl.game_clock its own, else the clock
---@field log? fun(level: string, message: string, fields: table)  takes what
---                        handlers log
---@field trace? fun(t: pawl.Trace)  handlers begin and end
---@field commit? fun(is_done: boolean): boolean?  asked before each commit and
---                                 after: true, and the engine is as good as
---                                 killed there; tests of what a crash leaves
---@field group? string             executor group; "default"
---@field prefixes? string|string[]  codes served: "billing.,media."
---@field lease? number|string      how long a claim holds, to an hour; 30 s
---@field heartbeat? number|string  10 s
---@field tenant? string            the engine is this one's: only what that one
---                                 has is there; nil: all is
---@field max_bytes? integer        variables of one instance; 1 MB
---@field checkpoint_bytes? integer  of a SQLite file: so long its log gets
---  before it is put into the file; 4 MB
---@field memory_bytes? integer     that the engine may have at the most, with
---                                 the states of its own; beyond that calls are
---                                 "nomem", and ticks take fewer at once
---@field batch? integer            instances claimed at once; 128, 1024 at most
---@field concurrency? integer      handlers that may wait at once, three quarters
---                                 of them of workflows of limited trust; 100,
---                                 10000 at most
---@field recoveries? integer       takeovers before suspending; 5
---@field retain? number|string|pawl.RetainOptions  how long what has ended is
---                                 kept, where its workflow does not say; then
---                                 it is pruned by ticks
---@field durability? "every"|"grouped"|"save"  when commits are on disk: each
---                                 before the call returns, within `flush`,
---                                 with engine:save; "every"
---@field flush? number|string      1 s
---@field busy? number|string       how long it waits for others who hold a
---                                 SQLite file; 0: never; 5 s, and a tick that
---                                 has a budget within that
---@field shards? integer           of a store made by this open; 1
---@field pooler? boolean           behind a pooler in transaction mode;
---                                 nil: found out when connecting
---@field schema? string            of a PostgreSQL database: where the store is;
---                                 "pawl"
---@field heartbeat_thread? boolean  a helper thread keeps leases while a
---                                 handler blocks; not with a clock
---@field sync_thread? boolean       a helper thread syncs a SQLite file's log
---                                 for `grouped`
---@field create? boolean           false: a missing store is an error
---@field copy? string              what engine:backup_bytes gave: a store in
---                                 memory begins with that
---@field stored_code? "any"|"own"  own: run no definition from the store
---@field unknown? "defer"|"fail"   what neither it nor the store knows: wait for
---  who does, or fail it
---@field state? "host"|"private"   where workflow files run; "host"
---@field seed? integer             of ids and jitter: with the same one and the
---                                 same clock two runs store the same; tests
---@field host? table<string, pawl.HostFunction>  what handlers call by ctx.host
---@field trust? "trusted"|"limited"|"isolated"|pawl.Trust  of workflows that are loaded, and
---                                 the most of those that come from the store;
---                                 "trusted"

---@class pawl.Trust
---@field level? "trusted"|"limited"|"isolated"  "limited"
---@field author? string            whose files they are: codes that another has
---                                 defined are not his; "guest"
---@field codes? string|string[]    what a file may define: "mod.*"; any
---@field takes? string|string[]    of these it may define another's as well
---@field may? { db?: boolean|string|string[]|{ read?: string|string[], write?: string|string[] }, await?: boolean, start?: string|string[], signal?: string|string[], host?: string|string[] }  what
---                                 its handlers may call; nothing of these
---@field memory? integer           bytes of its Lua state, 2 MB at least; 16 MB
---@field instructions? integer     of a handler, and of a load, 100,000 at
---                                 least; 5 million
---@field time? number|string       the same; 0.1 s
---@field wait? number|string       of a handler, with all that it waits; 60 s
---@field effects? integer          events, notes, starts, attributes and log
---                                 lines of one handler; 1000
---@field per_minute? { starts?: integer, timers?: integer, events?: integer, emits?: integer, signals?: integer, logs?: integer }
---                                 of all its instances; 1000 of each
---@field per_instance? { variables?: integer, bytes?: integer, tokens?: integer, ancestors?: integer }
---                                 of each one; 1000, 1 MB of these, 1000, 100
---@field helper? string            isolated: the command `pawl`, which it runs
---                                 in; the one that was installed

---@class pawl.RetainOptions  durations
---@field retain? number|string     instances, in whatever way they ended
---@field completed? number|string  those that ended so
---@field failed? number|string  the same of those that have failed
---@field cancelled? number|string  and of those that were cancelled
---@field deleted? number|string    since they were deleted, if that is sooner
---@field published? number|string  the outbox, since it was published; 7 days
---@field tasks? number|string      that are over, of instances that go on
---@field attributes? number|string  that outlived their instance, since then
---@field audit? number|string      its entries that no history has
---@field revisions? number|string  of workflows, since another took their place
---@field executors? number|string  since their last heartbeat; 7 days
---@field archive? boolean          instances are archived, and not purged
---@field keep_attributes? boolean  those that are purged are found by them

---@class pawl.PruneOptions: pawl.RetainOptions
---@field limit? integer   so many go at most
---@field dry_run? boolean  only count
---@field share? integer   percent of its time that it works; else a small part
---                        while instances begin, end or come to wait, and 100
---@field by? string       who asks: the audit tells, under "pruned", how much went

---@class pawl.Pruned
---@field removed integer
---@field archived? integer  instances
---@field kept table<string, integer>  past their time, by why they stay

---@class pawl.PruneReport
---@field instances pawl.Pruned
---@field deleted pawl.Pruned
---@field outbox pawl.Pruned
---@field tasks pawl.Pruned
---@field attributes pawl.Pruned  so many instances that were purged
---@field audit pawl.Pruned
---@field events pawl.Pruned
---@field revisions pawl.Pruned
---@field executors pawl.Pruned
---@field freed_bytes integer  that a SQLite file gave back
---@field longest_us integer   so long its longest transaction held its locks
---@field rested_us integer    to keep out of others' way
---@field finished boolean     false: a limit, or an interrupt, came before
---@field dry_run boolean

---@class pawl.Trace
---@field instance string
---@field workflow string
---@field node string
---@field kind string
---@field attempt integer
---@field at number        seconds since 1970
---@field elapsed? number  seconds that passed; nil while it begins
---@field outcome? "done"|"failed"|"retry"|"fired"|"undone"|"suspended"|"cancelled"
---@field ended? pawl.Status  the instance ends with this
---@field detail? string   where it leads, or the error
---@field due? number      when the engine looks again, if later

--- What failed; prints as one line.
---@class pawl.Error
---@field code string       stable: branch on this; docs/errors.md has them
---@field message string
---@field hint? string      what to do about it
---@field raised? string    the script's own: error{ code = ... }
---@field where? string     file:line, or the path of a value
---@field sqlstate? string
---@field trace? string     Lua traceback

--- Seconds, or words like "2h" and "30d".
---@alias number|string number|string

--- Seconds since 1970, or a time as the engine tells it.
---@alias pawl.Time number|string|pawl.Typed

---@class pawl.StartOptions
---@field key? string          idempotency: one instance per key and workflow
---@field on_existing? "return"|"fail"|"replace"  who has the key; "return"
---@field reuse? "never"|"ended"|"failed"  may the key go on then? "never"
---@field version? integer     of the workflow; default: the newest
---@field priority? integer    higher runs first
---@field delay? number|string  begin later: seconds, or "2h"
---@field at? pawl.Time        begin then
---@field deadline? number|string  it fails when it has not ended so long after
---                             it began: in place of its workflow's `deadline`
---@field max_bytes? integer   that its variables may have, as JSON: fewer than
---                             the engine's `max_bytes`
---@field tenant? string  whose it is
---@field group? string  the group of executors that runs it; "default"
---@field correlation? string  a text that goes along with all that it starts
---@field business_key? string  a text to find it by, which others may have too
---@field metadata? table  what others keep with it
---@field by? string           who starts it, for the record
---@field attributes? table<string, string|number|boolean|pawl.Typed>  by name,
---                        what it is found by in lists
---@field id? string           a UUIDv7 of the caller's, safe to repeat; with a
---                             key its last 4 digits are replaced by the key's

--- One of start_many's: what a start takes, but for `version`.
---@class pawl.StartItem: pawl.StartOptions
---@field input? any          {} when left out

---@class pawl.Signal
---@field name string          dotted words: "payment.received"
---@field key? string|number|boolean  ties it to waits
---@field instance? string     goes to this one alone
---@field data? any  what it brings: anything that JSON can hold
---@field id? string           with `source`: seen before, it is ignored
---@field source? string       who counts the ids; ""
---@field ttl? number|string   how long later waits find it by its key; 1 day
---@field start? pawl.SignalStart  what is started where nobody waits for it
---@field by? string           who sends it
---@field tenant? string       whose instances it is for; nil: those of none

--- A workflow that is started with the event in its inbox, or the instance
--- that the key names; with all of pawl.StartOptions but delay and at.
---@class pawl.SignalStart: pawl.StartOptions
---@field workflow string  the code of what is started
---@field input? any  what that is given

--- What engine:transaction gives its function: the engine's methods, and the
--- user's own SQL in the same transaction.
---@class pawl.Transaction: pawl.Engine
local Transaction = {}

--- One statement with the database's placeholders: `?`, `$1`. When it fails the
--- transaction can only be rolled back: raise.
---@param sql string
---@param ... string|number|boolean|pawl.Typed|nil
---@return table[]? rows
---@return integer|pawl.Error changed
function Transaction:query(sql, ...) end

---@class pawl.SignalInfo
---@field reached integer
---@field id string            of the event: the one given, or drawn
---@field instance? string     that was named, or started
---@field created? boolean     it was started now
---@field repeated boolean     the event was known: nothing was done

--- What an attribute equals; or comparisons and values by turns: { ">=", 100,
--- "<", 200 }, of "=", "<", "<=", ">", ">=" and "prefix"; or one of a set:
--- { "in", "a", "b" }. Integers, floats and decimals are compared as numbers,
--- exactly; other values with those of their own type.
---@alias pawl.Condition string|number|boolean|pawl.Typed|table

---@class pawl.Query
---@field workflow? string  its code
---@field version? integer  of that workflow
---@field status? string|string[]  one, or any of several
---@field tenant? string  whose it is
---@field correlation? string  a text that goes along with all that it starts
---@field business_key? string  with a star at its end: how it begins
---@field key? string  the one that it was started with
---@field group? string        of executors
---@field node? string         where it stands, or ended
---@field error? string        its code or message; with a star at its end how
---                            one begins. Completed ones only if `status` names
---                            them
---@field error_code? string   of those that have failed, or were suspended by
---                            an error: its code alone; with a star how it
---                            begins
---@field cancelled_by? string  those that this person has cancelled
---@field compensation? string|string[]  "planning", "running", "completed",
---                            "completed_with_errors", "stopped"
---@field leased? boolean      does an executor hold it? It executes, then,
---                            whatever its status
---@field halted? boolean      does it stand at a breakpoint?
---@field due_before? pawl.Time  to be looked at before then
---@field deadline_before? pawl.Time  whose deadline is before then
---@field attributes? table<string, pawl.Condition>  by their names
---@field created_after? pawl.Time   at that time or later
---@field created_before? pawl.Time  earlier
---@field started_after? pawl.Time   its first commit; none when it is created
---@field started_before? pawl.Time  that began before then
---@field updated_after? pawl.Time  where something happened from then on
---@field updated_before? pawl.Time  where nothing has happened since
---@field completed_after? pawl.Time  that ended from then on
---@field completed_before? pawl.Time  that ended before then
---@field sort? "newest"|"oldest"|"created"|"updated"|"completed"|"due"  newest.
---                            By a time: the latest first, 10,000 at most; by
---                            when they are due, the first first, any number but
---                            of what keys, attributes and such words find
---@field reverse? boolean     the other way round
---@field group_by? "error"|"node"|"workflow"|"status"  only of a tally
---@field waits? boolean       rows have `waits`: what each waits for
---@field deleted? boolean     those that were deleted, and no others
---@field archived? boolean    those that were archived, and no others
---@field limit? integer       100
---@field before? string       an id: older ones; sorted by a time, a cursor
---@field after? string        newer ones, those nearest to it
---@field parent? string       children of this instance
---@field root? string         all that descend from this one

--- How many there are of each, the most first. Each group has its name under
--- what they are counted by: { error = "timeout", count = 3 }.
---@class pawl.Groups
---@field count integer      in all
---@field more boolean       there are more, which were not counted
---@field groups { error?: string, node?: string, workflow?: string, status?: string, count: integer }[]

---@class pawl.RunOptions
---@field id? string              this instance alone
---@field wait? boolean           also wait for timers and retries; a clock of
---                               pawl.testing is moved
---@field timeout? number|string  of real time, and of such a clock's; then nil,
---                               err "timeout"

---@class pawl.Stats
---@field claimed integer    instances leased in this tick
---@field steps integer      handlers run
---@field commits integer    transactions
---@field committed integer  decisions stored
---@field lost integer       refused: another executor had taken over
---@field ended integer      instances that ended
---@field held integer       still leased when the tick returned
---@field waiting integer    of those, instances whose handlers wait
---@field outside integer    handlers that wait for more than a time
---@field next_due? number   when to look again; 0 now, nil nothing due
---@field unsaved integer      commits that a power cut could take
---@field unwritten integer    of those: what killing the process would take, too
---@field unsaved_for number   seconds since the first of them; 0: none
---@field over number         seconds that it took beyond its budget
---@field put_off integer     pieces of keeping house left to the next ticks
---@field spent pawl.Spent    where its time went

--- Seconds of a tick.
---@class pawl.Spent
---@field claim number   leases taken, and given back
---@field load number    what instances need beside their row
---@field run number     handlers
---@field commit number  what they did, stored
---@field wait number    for locks that others held, whatever they were for
---@field rest number    looking, delivering
---@field keep number    keeping house: what is past its time, children that
---                      end, histories kept short, counters, heartbeats

--- What came of an instance.
---@class pawl.Outcome
---@field id string
---@field status "completed"|"failed"|"cancelled"
---@field output? any
---@field error? table         of one that failed, as pawl.Instance has it
---@field cancellation? table

--- Times are text, "2026-11-21T07:38:00.000000Z".
---@class pawl.Instance
---@field id string
---@field workflow string
---@field version integer   of the workflow
---@field status "created"|"running"|"waiting"|"suspended"|"completed"|"failed"|"cancelled"
---@field node? string
---@field input any
---@field variables table
---@field output? any
---@field error? table
---@field tokens pawl.StandingToken[]  the live ones
---@field times table      created, started, updated, completed
---@field parent? string    who started it, where, and who began it all
---@field parent_node? string
---@field parent_index? integer  of an each: which item, from 0
---@field root? string
---@field trigger_event? string  id of the event that started it
---@field trigger_source? string  and its source, if it had one
---@field successor? string    the instance that was given its key
---@field deadline? string
---@field max_bytes? integer   that its variables may have, if its start said so
---@field suspended_at? string
---@field trimmed? pawl.Trimmed  where its history is not whole any more
---@field compensation? pawl.Compensation
---@field due? string       when it is looked at next
---@field executor? string  who holds it
---@field lease? pawl.Lease
---@field attributes table
---@field metadata? table
---@field cancellation? table
---@field progress? any  what the running handler last gave to ctx.heartbeat
---@field tenant? string
---@field priority integer
---@field group string
---@field key? string
---@field business_key? string
---@field correlation? string
---@field started_by? string
---@field commits integer   decisions stored so far
---@field deleted? pawl.Deleted
---@field away? pawl.Away   it was carried to another store
---@field archived? pawl.Archived
---@field purged? pawl.Purged

--- Here it stands still; where it was imported it goes on.
---@class pawl.Away
---@field at string
---@field by? string
---@field reason? string

--- It is hidden from lists. Without `at`: it will be when it has ended.
---@class pawl.Deleted
---@field at? string
---@field by? string
---@field reason? string
---@field purge_at? string  since when it is being purged: parts of it are gone

--- It was purged, but for its attributes.
---@class pawl.Purged
---@field at string
---@field by? string
---@field reason? string

--- It is in the archive: read as before, in lists of what is archived alone.
---@class pawl.Archived
---@field at string
---@field by? string
---@field reason? string

--- Who holds an instance. Its handler runs there, or after others that were
--- taken with it.
---@class pawl.Lease
---@field executor string
---@field host? string
---@field pid? integer
---@field since string      when it was taken
---@field until string      the end, unless it is kept by a heartbeat
---@field lapsed boolean

--- What is undone, or was. Of each list `get` shows the first 1,000, in the
--- order of undoing; while it is "planning" there are none.
---@class pawl.Compensation
---@field status "planning"|"running"|"completed"|"completed_with_errors"|"stopped"
---@field end? "failed"|"cancelled"  how the instance ends
---@field by? integer        where it goes on: the token whose node, `node`, has
---                          it undone
---@field token? integer     and that which stands at what is undone next
---@field error? table
---@field node? string      where it stood when that began
---@field started_at string
---@field completed_at? string
---@field planned? integer      steps to undo, in all
---@field undone? integer       of them, so far
---@field undo_failed? integer  those that could not be undone
---@field since? integer    rows of history from here on tell about it
---@field below? integer    rows before this one are still to be undone
---@field moves? integer[]  rows that tell of its moves to other versions
---@field plan? { seq: integer, node: string, visit: integer, token: integer }[]
---@field completed? integer[]  rows of history that were undone
---@field failed? { seq: integer, node: string, error: table, at: string }[]

--- Where an instance stands, once.
---@class pawl.StandingToken
---@field no integer
---@field node string
---@field state "active"|"waiting"|"consumed"|"dropped"
---@field visit integer
---@field previous? string
---@field parent? integer   the token that forked
---@field scope string      the forks it is in, as their tokens: "1.4"
---@field fork? string
---@field branch? string
---@field data? table       ctx.token.data
---@field event? table
---@field detail? table     what it waits for
---@field attempt integer   attempts that failed so far
---@field due? string
---@field entered? string   where it stands
---@field created? string   when it was made

--- See pawl_explain in pawl.h for all of it.
---@class pawl.Explanation
---@field id string
---@field status pawl.Status
---@field workflow string
---@field version integer
---@field now string
---@field deleted? pawl.Deleted
---@field away? pawl.Away
---@field archived? pawl.Archived
---@field purged? pawl.Purged
---@field lease? pawl.Lease
---@field progress? any     what the running handler last gave to ctx.heartbeat
---@field next_look? string
---@field suspended? { by?: string, reason?: string, since: string, shift: number }
---@field workflow_suspended? { code: string, prefix: boolean, by?: string, reason?: string, since: string }
---@field blocked string[]
---@field unseen? string  what could move it, and nobody will look
---@field workers integer
---@field can_retry boolean  it has failed, and it is known where it stood
---@field compensation? table
---@field deadline? string
---@field tokens pawl.ExplainedToken[]
---@field children table[]
---@field inbox table[]       the first 100
---@field inbox_total integer  how many there are
---@field undelivered integer
---@field sentences string[]

---@class pawl.ExplainedToken
---@field no integer
---@field node string
---@field kind? string
---@field beside? string  of a boundary: the node that it is on
---@field branch? string
---@field state string
---@field since? string
---@field due? string
---@field waiting_for table   what, and more by `what`; of an event: event,
---                           key, until, match, turned_down, and, where `match`
---                           itself failed, match_failed and error, where
---                           `accepts` or `answer` refused, refused and error;
---                           accepts, where that is declared; take: "one",
---                           where others may have it; assigned: the event's
---                           name, where another has it, and has not taken it;
---                           of a condition: until, and due, where it is to be
---                           asked and nobody has yet;
---                           of a time: at, and where an event moves it event and
---                           key; moved_by has what moves another's until or
---                           due; refused and error, where that failed
---@field would_move table[]  what, to, and more
---@field may table[]         kind, id; of a suspended one "operator" first

---@class pawl.OutboxQuery
---@field type? string  what was emitted as that
---@field tenant? string  whose it is
---@field instance? string  the id of one
---@field limit? integer   100
---@field emitted_before? pawl.Time  emitted before then
---@field dead? boolean    only those that were set aside
---@field after? string    the `place` of a row: the page behind it

--- One that is to be published, as CloudEvents 1.0 has it.
---@class pawl.CloudEvent
---@field specversion "1.0"
---@field id string         INSTANCE/SEQ: the same whenever it comes
---@field source string     "/pawl/" and the workflow's code
---@field type string
---@field time string
---@field subject string    the instance
---@field sequence string   SEQ with 20 digits
---@field workflowversion? integer
---@field correlation? string
---@field businesskey? string
---@field tenant? string
---@field datacontenttype? "application/json"
---@field data? any

--- Returns true: it was accepted. "later": it is under way, and asked for again
--- (`again`; of the event only the id is told then). nil, why: it has failed,
--- as when it raises. false, why: it is refused for good.
---@alias pawl.Publish fun(event: pawl.CloudEvent|string, id: string, attempt: integer, again: boolean): any, any

---@class pawl.RelayOptions
---@field publish pawl.Publish  who takes each of them on
---@field how? "table"|"json"       what it is given: a table, or the text
---@field budget? number|string     how long; until nothing is due
---@field max_attempts? integer     then it is set aside; 20
---@field lease? number|string      30 s; longer than one event takes
---@field batch? integer            instances at one time; 64
---@field base? number|string       the pause after a first failure; 1 s
---@field cap? number|string        the longest; 5 minutes
---@field source? string            how `source` begins; "/pawl/"
---@field finish? boolean           only what is under way is asked for
---@field rate? integer             attempts a second at most; else all at once

---@class pawl.Relayed
---@field claimed integer    instances leased
---@field published integer  accepted, and stored to be so
---@field failed integer     attempts that are to be repeated
---@field dead integer       set aside
---@field lost integer       another relay took over: it may come twice
---@field under_way integer
---@field limited boolean    more was due, and the rate is spent until then
---@field next_due? number   when to look again; nil: nothing is there

---@class pawl.OutboxChange
---@field by? string  who does it: for the history
---@field reason? string  why: for the history
---@field instance? string  the id of one
---@field seq? integer       one of it, which need not be dead
---@field type? string  what was emitted as that
---@field emitted_before? pawl.Time  emitted before then
---@field limit? integer     10,000

---@class pawl.BreakpointQuery
---@field workflow? string
---@field node? string
---@field tenant? string

--- Before that node tokens halt.
---@class pawl.Breakpoint
---@field workflow string
---@field node string
---@field when? string       only where this is true: an expression in Lua
---@field tenant? string     of whose instances; nil: of all
---@field by? string
---@field reason? string
---@field set string
---@field expires string     from then on it is none any more

---@class pawl.BreakpointOptions
---@field workflow string
---@field node string
---@field when? string       an expression over vars, input, key and attempt;
---                          where it fails a token halts, and says so
---@field lasts? number|string  1 hour
---@field version? integer   whose graph has the node; default: the newest
---@field tenant? string     of that one's instances alone
---@field by? string
---@field reason? string

---@class pawl.BreakpointRemoval
---@field workflow? string
---@field node? string       nil: all of the workflow
---@field tenant? string
---@field all? boolean       of all workflows
---@field by? string
---@field reason? string

---@class pawl.ExecutorQuery
---@field group? string  of this group
---@field all? boolean     also those that have stopped or are dead
---@field limit? integer   100

--- As in a list: without data and tokens.
---@class pawl.ListedInstance
---@field id string
---@field workflow string
---@field version integer
---@field status string
---@field node? string
---@field error? table
---@field times table      created, started, updated, completed
---@field deleted? pawl.Deleted
---@field archived? pawl.Archived
---@field purged? pawl.Purged
---@field waits? table     {what, ...}, when the query asks for it: what its one
---                        token waits for, or that it is suspended
---@field due? string      when it is to be looked at, of those sorted by that
---@field cursor? string   its place, of those sorted by a time

---@alias pawl.TaskStatus "pending"|"running"|"completed"|"failed"|"cancelled"|"timed_out"
---@alias pawl.TaskPriority "low"|"normal"|"high"|"urgent"

--- Times are text, as an instance's are. `running`: somebody has claimed it.
---@class pawl.Task
---@field id string
---@field instance string
---@field tenant? string
---@field workflow string
---@field version integer   of the workflow
---@field business_key? string  of the instance
---@field node string
---@field token integer
---@field visit integer
---@field title string
---@field description? string
---@field form? string      its schema type
---@field status pawl.TaskStatus
---@field priority pawl.TaskPriority
---@field input any
---@field output? any
---@field metadata? table    what others keep with it
---@field error? table
---@field transition? string
---@field due? string
---@field overdue boolean
---@field assignee? string
---@field users string[]    for whom it is; nobody at all: anybody
---@field roles string[]
---@field groups string[]
---@field delegated_by? string
---@field claimed_by? string
---@field claimed? string
---@field completed_by? string
---@field completed? string  when it ended, however
---@field escalated? string
---@field signal? string    event that its completion raises
---@field created string
---@field started? string
---@field updated string
---@field log { at: string, what: string, by: string, to?: string, reason?: string, changes?: table<string, { from?: any, to?: any }> }[]  changes: of an edit
---@field accepts? pawl.Types  what its output must be; not in lists
---@field schema? table        JSON Schema of that; not in lists

--- All given must hold; user, role and group together are one condition.
---@class pawl.TaskQuery
---@field user? string  for whom it is, who is assigned, or who has it
---@field role? string|string[]  open to this role, or any of these
---@field roles? string|string[]  the same
---@field group? string|string[]  open to this group, or any of these
---@field groups? string|string[]  the same
---@field status? pawl.TaskStatus|pawl.TaskStatus[]  one, or any of several
---@field tenant? string  whose it is
---@field instance? string  the id of one
---@field form? string  the name of its form
---@field priority? pawl.TaskPriority  of this priority
---@field workflow? string  its code
---@field version? integer  of that workflow
---@field node? string  where
---@field business_key? string  of its instance; with a star: how it begins
---@field key? string          of its instance
---@field assignee? string  who is to do it
---@field due_before? pawl.Time  due before then
---@field due_after? pawl.Time  due from then on
---@field created_before? pawl.Time  made before then
---@field created_after? pawl.Time  made from then on
---@field overdue? boolean    open ones that should be done by now
---@field limit? integer      default 100
---@field before? string      an id: older ones; by due time, those due later
---@field after? string       an id: newer ones, or those due sooner: the nearest

---@class pawl.TaskActor
---@field by string               who does it
---@field role? string|string[]   that the user is in
---@field roles? string|string[]  whose roles he has
---@field group? string|string[]  the same as `groups`
---@field groups? string|string[]  whose groups he is in
---@field reason? string          for the task's log
---@field override? boolean       though another holds it: recorded, with whom

---@class pawl.TaskCompletion: pawl.TaskActor
---@field output? any  what comes of it: for the node's `into`
---@field take? string  the transition

---@class pawl.TaskFailure: pawl.TaskActor
---@field error? string|{ code?: string, message?: string, details?: any }  why:
---                        a message, or an error as handlers raise them

---@class pawl.TaskReassignment
---@field by string  who does it: for the history
---@field to? string  who is to do it
---@field users? string|string[]  or who may take it
---@field roles? string|string[]  or whose role may
---@field groups? string|string[]  or whose group may
---@field reason? string  why: for the history

---@class pawl.TaskEdit
---@field by string  who does it: for the history
---@field title? string  another title
---@field description? string  another description
---@field form? string  another form
---@field input? any  what else is shown
---@field priority? pawl.TaskPriority  another priority
---@field due? pawl.Time  another time
---@field metadata? table        what others keep with it
---@field unset? string|string[]  description, form, input, metadata or due
---@field reason? string  why: for the history

---@class pawl.TaskEscalation
---@field by string  who does it: for the history
---@field users? string|string[]  who may take it as well
---@field roles? string|string[]  whose role may as well
---@field groups? string|string[]  whose group may as well
---@field priority? pawl.TaskPriority  what that becomes
---@field reason? string  why: for the history

--- One store connection; see pawl.open. Closed by close, <close> or the
--- collector. Calls from inside its own handlers raise.
---@class pawl.Engine
---@field tasks pawl.Tasks          the work of people
---@field workflows pawl.Workflows  what is registered
---@field outbox pawl.Outbox        what is to be published
---@field executors pawl.Executors  who may hold instances
---@field breakpoints pawl.Breakpoints  before which nodes tokens halt
local Engine = {}

--- engine.tasks
---@class pawl.Tasks
local Tasks = {}

--- engine.workflows
---@class pawl.Workflows
local Workflows = {}

--- engine.outbox
---@class pawl.Outbox
local Outbox = {}

--- engine.breakpoints
---@class pawl.Breakpoints
local Breakpoints = {}

--- Those that are set. What has halted is engine:list { halted = true }.
---@param query? pawl.BreakpointQuery
---@param how? "table"|"json"
---@return pawl.Breakpoint[]? breakpoints
---@return pawl.Error? err
function Breakpoints:list(query, how) end

--- A token that comes to that node, in whatever version, halts before it
--- begins. One that is there is set anew.
---@param options pawl.BreakpointOptions
---@return { workflow: string, node: string, expires: string }? info
---@return pawl.Error? err
function Breakpoints:set(options) end

--- What has halted there goes on.
---@param options pawl.BreakpointRemoval
---@return { removed: integer, continued: integer }? info
---@return pawl.Error? err  "notfound"
function Breakpoints:remove(options) end

--- engine.executors
---@class pawl.Executors
local Executors = {}

--- Loads and checks a workflow file, or a workflow built here.
---@param workflow string|pawl.Workflow
---@param options? { trust?: "trusted"|"limited"|"isolated"|pawl.Trust }  of a file: with a
---  trust of its own
---@return { workflow: string, version: integer, sha256: string, trust: string }? info
---@return pawl.Error? err
function Engine:load(workflow, options) end

---@class pawl.BackupOptions
---@field replace? boolean  a store that is there gives way to the whole copy, in
---  one step; it may be open nowhere

--- Copies a SQLite store that is in use, or in memory, to a file, which appears
--- there once it is whole. For PostgreSQL there is pg_dump.
---@param path string  nothing is overwritten, but with `replace`
---@param options? pawl.BackupOptions
---@return { file: string, bytes: integer }? info
---@return pawl.Error? err
function Engine:backup(path, options) end

--- The same into memory: the bytes that the file would have.
---@return string? bytes
---@return pawl.Error? err
function Engine:backup_bytes() end

--- What a backup has copied takes the place of all that is in the store: whole,
--- or nothing is changed. Leases in it count no more. For PostgreSQL there is
--- pg_restore.
---@param path string
---@return { file: string, bytes: integer }? info
---@return pawl.Error? err
function Engine:restore(path) end

--- The same of what engine:backup_bytes gave.
---@param bytes string
---@return true? done
---@return pawl.Error? err
function Engine:restore_bytes(bytes) end

---@class pawl.ExportOptions
---@field mask? string|string[]  attributes; "vars.customer.name": variables
---@field move? boolean  it goes on elsewhere: here it is carried away first
---@field by? string  who does it: for the history

--- An instance with all its rows, as lines of JSON for another store. It stays
--- here as it is, unless it is moved: "busy" while somebody holds it, or has
--- its word for another one to hand over; "conflict": a child of it goes on here.
---@param id string
---@param options? pawl.ExportOptions
---@return string? lines
---@return pawl.Error? err
function Engine:export(id, options) end

---@class pawl.ImportOptions
---@field release? boolean  it goes on here, in the place of the original
---@field copy? boolean     it does nothing, also when it was moved
---@field by? string  who does it: for the history
---@field reason? string  why
---@field line? integer  the number of the first line, for errors

--- Stores what export gave. What was moved goes on here; all others are copies:
--- each is suspended before anything of it can run. One that is there already is
--- left as it is.
---@param lines string
---@param options? pawl.ImportOptions
---@return { imported: string[], there: string[] }? report
---@return pawl.Error? err
function Engine:import(lines, options) end

---@class pawl.DeployedFile
---@field file string
---@field workflow? string
---@field version? integer
---@field sha256? string
---@field outcome? "new"|"same"|"replaced"
---@field error? { code: string, message: string, where?: string, hint?: string }

--- Registers files without running them here: all of them, in one transaction,
--- or none; then the third value says what is wrong with each.
---@param files string|string[]
---@param options? { by?: string }
---@return pawl.DeployedFile[]? deployed
---@return pawl.Error? err
---@return pawl.DeployedFile[]? wrong
function Engine:deploy(files, options) end

--- Checks a file; nothing is stored.
---@param path string
---@return table? graph
---@return pawl.Error? err
function Engine:check(path) end

--- The graph of a workflow that the store knows.
---@param code string
---@param version? integer  default: the newest
---@return table? graph
---@return pawl.Error? err
function Workflows:graph(code, version) end

--- Stores a new instance. On return it will run, whatever dies next.
---@param code string
---@param input? any  {} when left out
---@param options? pawl.StartOptions
---@return string? id
---@return boolean|pawl.Error created  false: the key named an earlier one
function Engine:start(code, input, options) end

--- Stores many new instances of one workflow, in batches of up to 1,000, each
--- whole or not at all, and of one shard. All items are checked before
--- anything is stored; an error that comes later, as for a key that is in use,
--- says how many are, if any. With keys or ids in the items the call may be
--- repeated.
---@param code string
---@param items pawl.StartItem[]
---@param options? pawl.StartOptions  of all items; `key` and `id` are an item's
---@return string[]? ids            in the order of the items
---@return boolean[]|pawl.Error created  false: the item's key named an earlier
function Engine:start_many(code, items, options) end

--- Sends an event, stored when the call returns: to all that wait for it, to
--- one instance, or to one that it starts.
---@param signal pawl.Signal
---@return integer? reached  instances that it reached or started
---@return pawl.SignalInfo|pawl.Error info
function Engine:signal(signal) end

--- Calls fn, all that it does with this engine being one transaction: committed
--- when it returns, rolled back when it raises, which goes on with the same
--- value; it cannot yield. Inside another one it is a savepoint.
---@param fn fun(tx: pawl.Transaction): ...
---@return any ...  what fn returns, or true; nil when the commit failed
---@return pawl.Error? err
function Engine:transaction(fn) end

--- One instance; the id may be shortened.
---@param id string
---@param how? "table"|"json"  "json": the text, nulls and all
---@return pawl.Instance? instance
---@return pawl.Error? err
function Engine:get(id, how) end

--- Waits until an instance has ended, whoever runs it, also where the store may
--- only be read; this engine runs nothing meanwhile. pawl.null: it has no output. nil and the error that it failed
--- with, or that it was cancelled; with code "timeout" it goes on, and may be
--- asked again.
---@param id string
---@param options? { timeout?: number|string }  none: without an end
---@return any? output
---@return pawl.Error? err
---@return pawl.Outcome? outcome  once it has ended
function Engine:result(id, options) end

---@class pawl.AskOptions
---@field timeout? number|string  how long it waits; none: without an end
---@field event? string  the event's id: asked again with it, it is not sent again
---                      and has the same answer
---@field by? string     who asks

--- Sends an instance an event, and waits for what it answers: by the `answer` of
--- the wait that takes it, or by ctx.answer behind that. pawl.null: nothing. nil
--- and the error by which `answer` refused it; with code "timeout" it may be
--- answered later, "already_finished": it never will.
---@param id string
---@param name string  of the event
---@param data? any
---@param options? pawl.AskOptions
---@return any? answer
---@return pawl.Error? err
function Engine:ask(id, name, data, options) end

---@class pawl.CompleteOptions
---@field by? string     who does

--- Completes what a handler gave the token for by ctx.callback: its event goes
--- to its instance, once. true: it does now; false: that was done before. Any
--- token that is not good is "notfound"; of a good one "already_finished": its
--- instance has ended.
---@param token string
---@param data? any
---@param options? pawl.CompleteOptions
---@return boolean? done
---@return pawl.Error? err
function Engine:complete(token, data, options) end

--- What handlers show of an instance by ctx.publish: all by their names, or the
--- value of one; nil: nothing is shown by that name.
---@param id string
---@param name? string
---@return any? values
---@return pawl.Error? err
function Engine:published(id, name) end


--- How one instance stands, and no more: for who asks often. Also of one that is
--- archived, or was purged from there.
---@param id string
---@return pawl.Status? status
---@return pawl.Error? err
function Engine:status(id) end

--- Instances, newest first.
---@param query? pawl.Query
---@param how? "table"|"json"
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function Engine:list(query, how) end

--- How many a list would have, up to its limit, which is 10,000 here; with
--- `group_by` how many of each.
---@param query? pawl.Query
---@return integer|pawl.Groups? count
---@return boolean|pawl.Error more  there are more
function Engine:tally(query) end

---@class pawl.HistoryQuery
---@field limit? integer  rows at most
---@field after? integer     a row's seq: the page behind it
---@field last? integer      the newest so many, oldest first
---@field type? string       "step", "note", "cancelled"...
---@field node? string  of this node
---@field by? string  what this person did
---@field completed_after? pawl.Time  then or later
---@field completed_before? pawl.Time  that ended before then
---@field variable? string   rows that changed it: their `value` is what it was
---                          then, nil when it was removed
---@field attribute? string  the same of an attribute: { type =, value = }

--- What `keep_history` has taken away.
---@class pawl.Trimmed
---@field upto integer   rows up to that one may be gone, those behind it are there
---@field rows integer   so many are gone
---@field keep integer   the `keep_history` it was done by
---@field at string      when that was last done

--- One row of a history: a visit of a node that ended there, an attempt that
--- failed, or what somebody has done. Times are ISO 8601, UTC.
---@class pawl.HistoryRow
---@field seq integer         its number in the instance, from 1
---@field type string         "step", "received", "condition", "timer", "task", "child",
---                           "each", "timeout"; "failed", "escalated",
---                           "rescheduled", "refused"; "changed", "moved", "note"...;
---                           "trimmed": rows up to it are gone
---@field node? string
---@field token? integer
---@field visit? integer      the same in all rows of one visit
---@field attempt? integer    from 1
---@field previous? integer[] rows that led here, in order; none: the token's
---                           row before, whose `path` says how
---@field transition_in? string  by which its visit was entered; none: it has no
---                           name, nothing led there, or no row tells it
---@field transition? string  that it left by
---@field path? string        where that led, past choices and forks
---@field started? string     when the visit began; of a step, its attempt
---@field completed string
---@field due? string         of what waited: until when; of other rows: when
---                           what they led to is due
---@field by? string          who asked for it, sent it, did it
---@field executor? string    which process wrote it
---@field text? string        why; an event's name; a child's id
---@field output? any
---@field changes? { set?: table, unset?: string[], attributes?: table }  of
---                           variables; and of attributes, by name: `from`
---                           and `to`, each { type =, value = }
---@field error? table
---@field trimmed? pawl.Trimmed  in the row of that type

--- What is recorded of an instance, oldest first: all of it, or what fits.
---@param id string
---@param query? pawl.HistoryQuery
---@param how? "table"|"json"
---@return pawl.HistoryRow[]? entries
---@return pawl.Error? err
function Engine:history(id, query, how) end

--- What a variable was, when, and who set it: the rows that changed it, each
--- with its `value` then, nil where it was removed.
---@param id string
---@param name string
---@param query? pawl.HistoryQuery  neither variable nor attribute
---@param how? "table"|"json"
---@return pawl.HistoryRow[]? entries
---@return pawl.Error? err
function Engine:variable_history(id, name, query, how) end

---@class pawl.AuditQuery
---@field by? string         what this person did
---@field since? pawl.Time   then or later
---@field until? pawl.Time   before
---@field type? string       "cancelled", "changed", "started", "claimed"...
---@field workflow? string  its code
---@field tenant? string  whose it is
---@field instance? string   an id, which may be shortened
---@field limit? integer     100; at most 10,000
---@field before? string     an entry's cursor: the page behind it

---@class pawl.AuditEntry
---@field at string          ISO 8601, UTC
---@field by? string
---@field type string        as in the history; "started" of an instance;
---                          of a task "claimed", "unclaimed", "reassigned",
---                          "delegated", "escalated", "retried", "edited"; of
---                          workflows
---                          "registered", "hotfixed", "activated",
---                          "deactivated", "switched_off", "switched_on",
---                          "suspended", "resumed", "breakpoint_set",
---                          "breakpoint_removed"; of what was emitted
---                          "retried", "dropped"; "purged", "archived",
---                          "unarchived", "imported"; of the store
---                          "pruned"
---@field instance? string
---@field seq? integer       the row of its history
---@field workflow? string
---@field version? integer
---@field node? string
---@field task? string
---@field text? string       why
---@field cursor string      for `before`

--- Who did what, when, over all instances; newest first.
---@param query? pawl.AuditQuery
---@param how? "table"|"json"
---@return pawl.AuditEntry[]? entries
---@return pawl.Error? err
function Engine:audit(query, how) end

--- The children of one instance, newest first.
---@param id string
---@param query? pawl.Query  further filters
---@param how? "table"|"json"
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function Engine:children(id, query, how) end

--- Where an instance stands; `all`: also what is consumed or dropped.
---@param id string
---@param options? { all?: boolean }
---@param how? "table"|"json"
---@return pawl.StandingToken[]? tokens
---@return pawl.Error? err
function Engine:tokens(id, options, how) end

--- What each token waits for, what would move it, and why nothing moves; as
--- data and, in `sentences`, in words.
---@param id string
---@param how? "table"|"json"
---@return pawl.Explanation? explanation
---@return pawl.Error? err
function Engine:explain(id, how) end

--- What workflows have emitted and nobody has published yet, as it is due.
---@param query? pawl.OutboxQuery
---@param how? "table"|"json"
---@return table[]? rows
---@return pawl.Error? err
function Outbox:list(query, how) end

--- Hands over what is due, until nothing is: an instance's in order, at least
--- once.
---@param options pawl.RelayOptions
---@return pawl.Relayed? relayed
---@return pawl.Error? err
function Outbox:relay(options) end

--- Has what was set aside tried again, as if it were new; one that is named
--- (instance, seq) need not be dead, but wait for its next attempt.
---@param options? pawl.OutboxChange
---@return integer? changed
---@return boolean|pawl.Error more  the limit was met
function Outbox:retry(options) end

--- Says that what was set aside will not be published; one that is named need
--- not be dead, but the first of its instance.
---@param options? pawl.OutboxChange
---@return integer? changed
---@return boolean|pawl.Error more  the limit was met
function Outbox:drop(options) end

--- Executors that live, the youngest first: id, alive, host, pid, group,
--- started, active, expires, stopped, recovered, holds. A program that only
--- asks is none.
---@param query? pawl.ExecutorQuery
---@param how? "table"|"json"
---@return table[]? rows
---@return pawl.Error? err
function Executors:list(query, how) end

--- The full id of a shortened one: 4 or more hexadecimal digits of its
--- beginning, or of its end: 8, where its shard has more than 100,000.
---@param text string
---@return string? id
---@return pawl.Error? err  "ambiguous", "notfound"
function Engine:find(text) end

--- Tasks for people, newest first; asked for by due time alone, longest
--- overdue first.
---@param query? pawl.TaskQuery
---@param how? "table"|"json"
---@return pawl.Task[]? tasks
---@return pawl.Error? err
function Tasks:list(query, how) end

--- How many a list would have, up to its limit: 10,000 unless it is less.
---@param query? pawl.TaskQuery
---@return integer? count
---@return boolean|pawl.Error more  there are more
function Tasks:tally(query) end

--- One task; the id may be shortened.
---@param id string
---@param how? "table"|"json"
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:get(id, how) end

--- The full id of a task's shortened one.
---@param prefix string
---@return string? id
---@return pawl.Error? err  "ambiguous", "notfound"
function Tasks:find(prefix) end

--- Takes a task. Of two who do so at once one has it.
---@param id string
---@param options pawl.TaskActor
---@return pawl.Task? task
---@return pawl.Error? err  "taken", "already_finished"
function Tasks:claim(id, options) end

--- Gives back what was claimed.
---@param id string
---@param options { by: string, reason?: string }
---@return pawl.Task? task
---@return pawl.Error? err  "conflict": nobody has claimed it
function Tasks:unclaim(id, options) end

--- Ends a task; its instance goes on. `take` names the transition where
--- several are drawn, unless the output does: "approved", or { take = ... }.
---@param id string
---@param options pawl.TaskCompletion
---@return pawl.Task? task
---@return pawl.Error? err  "taken", "already_finished", "invalid"
function Tasks:complete(id, options) end

--- Says that it cannot be done. Where neither a `failed` transition nor
--- on_error is drawn, it may be tried again.
---@param id string
---@param options pawl.TaskFailure
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:fail(id, options) end

--- Opens a failed task again.
---@param id string
---@param options { by: string, reason?: string }
---@return pawl.Task? task
---@return pawl.Error? err  "conflict": it has not failed
function Tasks:retry(id, options) end

--- Takes a task from whoever has it, and gives it to another: a user, or
--- users, roles and groups instead of those whom it was for.
---@param id string
---@param options pawl.TaskReassignment
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:reassign(id, options) end

--- Whoever holds a task hands it on.
---@param id string
---@param options { by: string, to: string, reason?: string }
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:delegate(id, options) end

--- Changes what an open task says, and when it is due: its overdue transition
--- and escalation move with that.
---@param id string
---@param options pawl.TaskEdit
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:edit(id, options) end

--- Raises a task's priority, or adds those whom it is for.
---@param id string
---@param options pawl.TaskEscalation
---@return pawl.Task? task
---@return pawl.Error? err
function Tasks:escalate(id, options) end

--- Runs what is due until the budget is spent; never waits.
---@param budget? number  seconds; 0: one round
---@return pawl.Stats? stats
---@return pawl.Error? err
function Engine:tick(budget) end

--- Takes to the disk what was committed and is not there yet.
---@return boolean? done
---@return pawl.Error? err
function Engine:save() end

--- The same for one instance alone.
---@param id string
---@param budget? number  seconds
---@return "done"|"leased"|"later"|"now"|nil status
---@return pawl.Stats|pawl.Error stats
function Engine:tick_instance(id, budget) end

--- Runs until nothing is due; with wait = true until everything has ended.
---@param options? pawl.RunOptions
---@return table? totals  the instance, when `id` was given
---@return pawl.Error? err
function Engine:run(options) end

--- When the engine must next be ticked: 0 now; nil nothing is scheduled.
---@return number? seconds  since 1970
---@return pawl.Error? err
function Engine:next_due() end

---@class pawl.BulkOptions: pawl.ChangeOptions
---@field limit? integer  at most so many; all of them
---@field progress? fun(so_far: pawl.Progress): boolean?  after each hundred, and
---                       at the end; false ends it there. It may not call the
---                       engine

---@class pawl.Progress
---@field matched integer  seen to
---@field done integer
---@field asked integer    their holders will do it
---@field refused integer
---@field skipped integer  what the list does not have any more: it is gone, or
---                        another has done the same

---@class pawl.BulkReport: pawl.Progress
---@field kind string      what was asked for
---@field request string   the id that each instance's history has of it
---@field dry_run boolean  then `done` would not be refused
---@field refusals pawl.Refusal[]  one for each reason; of many the first 20
---@field stopped boolean  by `progress`, or a signal
---@field more? boolean    in a transaction: there are more than the 1,000 that
---                        one call takes there
---@field last? string     then: the id that the query goes on at, as `before`,
---                        or as `after` where the oldest come first

---@class pawl.Refusal
---@field code string
---@field count integer
---@field others? boolean  of this code, for reasons that have no row
---@field id string        of the first, whose message and hint these are
---@field message string
---@field hint? string

--- Changes all instances that a list would have, one after the other, each as
--- the method of that name does, whose options it takes. Unless the query names
--- statuses, those are meant that this can be done to. Cut short, it goes on
--- when it is asked again.
---@param verb string         "cancel", "kill", "suspend", "resume", "retry",
---                           "restart", "move", "edit", "wake", "note",
---                           "delete", "undelete", "archive",
---                           "unarchive", "purge", "carry", "reclaim"
---@param query pawl.Query    with a filter at least
---@param options? pawl.BulkOptions
---@return pawl.BulkReport? report
---@return pawl.Error? err
function Engine:bulk(verb, query, options) end

--- Is anything of this engine's group held by anybody, this engine included?
---@return boolean? busy
---@return pawl.Error? err
function Engine:busy() end

--- A descriptor for a poll of one's own: it can be read when somebody says that
--- there is something to do; `engine:wait(0)` takes that in. -1: there is none, of
--- SQLite, behind a pooler or of a replica. Ask each time: it may be another one.
---@return integer? fd
---@return pawl.Error? err
function Engine:fd() end

--- Sleeps so long, until something is due or interrupt is called.
---@param seconds number
---@return true? ok
---@return pawl.Error? err
function Engine:wait(seconds) end

--- Who asks, and why: recorded.
---@class pawl.Asked
---@field by? string  who does it: for the history
---@field reason? string  why: for the history

---@class pawl.ChangeOptions: pawl.Asked
---@field request? string    an id drawn by the caller: asked again with the
---                          same one it is not done again, and answered as it
---                          was; another change by it is refused
---@field dry_run? boolean   only checked; done is false

---@class pawl.CancelOptions: pawl.ChangeOptions
---@field compensate? boolean  false: nothing is undone
---@field source? "user"|"event"|"system"  on whose behalf; "user"
---@field event_id? string     which event made somebody ask

--- Asks for cancellation.
---@param id string
---@param reason? string|pawl.CancelOptions
---@return true? ok
---@return boolean|pawl.Error done  false: its holder does it
function Engine:cancel(id, reason) end

--- Ends it at once, whoever holds it; nothing is undone.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done
function Engine:kill(id, options) end

---@class pawl.DeleteOptions: pawl.ChangeOptions
---@field cancel? boolean      one that lives is cancelled first
---@field compensate? boolean  false: and nothing is undone

--- Hides one that has ended, and frees its key; nothing of it is lost.
---@param id string
---@param options? pawl.DeleteOptions
---@return true? ok
---@return boolean|pawl.Error done  false: once it has ended; "conflict": it
---                                 lives, or is deleted already
function Engine:delete(id, options) end

--- Takes that back.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it is not deleted, or is being
---                                 purged, or another has its key now
function Engine:undelete(id, options) end

--- Fences it off, to be exported with `move`: nothing of it runs here, and
--- nobody can change it.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": its parent goes on here
function Engine:carry(id, options) end

--- Takes that back, when it was not imported elsewhere.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it is not away
function Engine:reclaim(id, options) end

---@class pawl.PurgeOptions: pawl.ChangeOptions
---@field force? boolean  what it emitted may be lost unpublished
---@field keep_attributes? boolean  by them it is found still: list with archived

--- One that has ended goes for good, with all that is its own. Cut short, it
--- is hidden, and goes on when it is asked for again.
---@param id string
---@param options? pawl.PurgeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it lives, or something else needs
---                                 it; "notfound": it is gone
function Engine:purge(id, options) end

---@class pawl.ArchiveOptions: pawl.ChangeOptions
---@field force? boolean  what it emitted is not published any more

--- Takes one that has ended out of the tables of those that live. It is read as
--- before, and keeps its key; lists have it with `archived` alone.
---@param id string
---@param options? pawl.ArchiveOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it lives, or something else needs
---                                 it; "busy": a worker holds it
function Engine:archive(id, options) end

--- Brings it back, as it was.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it is not archived
function Engine:unarchive(id, options) end

--- Nothing of it runs until it is resumed.
---@param id string
---@param options? pawl.ChangeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it is suspended already
function Engine:suspend(id, options) end

---@class pawl.ResumeOptions: pawl.ChangeOptions
---@field shift? boolean  its times are put off by as long as it took

--- One that is suspended goes on.
---@param id string
---@param options? pawl.ResumeOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it is not suspended
function Engine:resume(id, options) end

---@class pawl.WholeWorkflow: pawl.Asked
---@field workflow? string  a code
---@field prefix? string    or what codes begin with: "billing."
---@field shift? boolean    resume: times are put off by as long as it took

--- No step of its instances begins until it is resumed; new ones may be started,
--- and wait.
---@param options pawl.WholeWorkflow
---@return table? info
---@return pawl.Error? err  "conflict": it is suspended already
function Workflows:suspend(options) end

--- What was suspended as a whole goes on.
---@param options pawl.WholeWorkflow
---@return table? info
---@return pawl.Error? err  "conflict": it is not suspended
function Workflows:resume(options) end

---@class pawl.RetryOptions: pawl.ChangeOptions
---@field token? integer  which, where there are several

--- One that failed, or is suspended, tries again.
---@param id string
---@param options? pawl.RetryOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it has not failed and is not
---                                 suspended, or nothing says where it stood
function Engine:retry(id, options) end

---@class pawl.RestartOptions: pawl.ChangeOptions
---@field from string    the node
---@field seq? integer   variables as they were before that row of history;
---                      default: when it last came to the node

--- One that completed, failed or is suspended goes on at a node. What was
--- cancelled or killed does not.
---@param id string
---@param options pawl.RestartOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it goes on already
function Engine:restart(id, options) end

---@class pawl.MoveOptions: pawl.ChangeOptions
---@field to string       the node
---@field token? integer  which, when there are several; not that of a boundary

--- A token goes to another node, and on from there.
---@param id string
---@param options pawl.MoveOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": no such token, or several and
---                                 none was named
function Engine:move(id, options) end

---@class pawl.EditOptions: pawl.ChangeOptions
---@field set? table          variables
---@field unset? string|string[]  variables that go
---@field if_commits? integer  only if it made so many commits

--- Changes variables.
---@param id string
---@param options pawl.EditOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": it made other commits meanwhile
function Engine:edit(id, options) end

---@class pawl.WakeOptions: pawl.ChangeOptions
---@field nodes? string|string[]  only there
---@field node? string  the same as `nodes`
---@field at? pawl.Time           default: now

--- What it waits for until a time is due now.
---@param id string
---@param options? pawl.WakeOptions
---@return true? ok
---@return boolean|pawl.Error done
function Engine:wake(id, options) end

---@class pawl.ContinueOptions: pawl.ChangeOptions
---@field nodes? string|string[]  only what has halted there
---@field node? string          the same as `nodes`
---@field token? integer        this one alone

--- What has halted at a breakpoint goes on; one that steps does so no more.
---@param id string
---@param options? pawl.ContinueOptions
---@return true? ok
---@return boolean|pawl.Error done
function Engine:continue(id, options) end

---@class pawl.StepOptions: pawl.ContinueOptions
---@field lasts? number|string  it halts before the next node for so long; 1 hour

--- The one token that has halted runs its node and halts before the next.
---@param id string
---@param options? pawl.StepOptions
---@return true? ok
---@return boolean|pawl.Error done  "conflict": several have; say which
function Engine:step(id, options) end

---@class pawl.NoteOptions
---@field by? string  who does it: for the history
---@field request? string    see pawl.ChangeOptions
---@field dry_run? boolean  only look whether it could be
---@field text string   1 to 16,384 bytes
---@field data? any  beside the text, as JSON

--- Appends a row to its history, of type "note", also when it has ended; its
--- `output` has the data. Nothing else comes of it.
---@param id string
---@param options pawl.NoteOptions
---@return true? ok
---@return boolean|pawl.Error done
function Engine:note(id, options) end

---@class pawl.TransferOptions: pawl.Asked
---@field map? table<string, string>  nodes' names, old to new
---@field vars? fun(variables: table, instance: pawl.Instance): table  what the
---                        variables of each become
---@field plan? boolean               nothing is changed

---@class pawl.TransferRefusal
---@field id string
---@field reason string
---@field token? integer
---@field node? string

---@class pawl.TransferCount
---@field node string    the boundary: "approve.on_timer"
---@field on string      the node that it is on
---@field count integer  at how many places

---@class pawl.TransferBeside
---@field begun pawl.TransferCount[]  those that are new in that version
---@field ended pawl.TransferCount[]  those that it has not

--- The instances of one version, unfinished or failed, go on in another, each in
--- a transaction of its own. Those that have failed stay so; `retry` goes on in
--- the new version. Refused is one whose token has no node of its kind there, or
--- not inside the same forks; or where a step that was done and can be undone has
--- no counterpart (map it). Those that failed at a finish, or were undone, stand
--- nowhere, and are not asked. With `plan` it is only said which could go.
---@param code string
---@param from integer
---@param to integer
---@param options? pawl.TransferOptions
---@return string[]? gone  ids
---@return pawl.TransferRefusal[]|pawl.Error refused
---@return string[] asked  held by somebody, who does it before the next step
---@return pawl.TransferBeside beside  boundaries that begin and end where
---                                    instances stand that can go
function Workflows:transfer(code, from, to, options) end

--- Replaces the source of a version that is in use; the graph must be the same.
---@param workflow string|pawl.Workflow
---@param options? pawl.Asked
---@return { workflow: string, version: integer, revision: integer }? info
---@return pawl.Error? err
function Workflows:hotfix(workflow, options) end

---@class pawl.StatsQuery
---@field workflow? string  of this one
---@field minutes? integer  of `recent`: 5, up to 14
---@field held? integer     so many of the instances that are held; 0

--- Up to some thousand were counted; more: there are more than that.
---@class pawl.Counted
---@field count integer
---@field more boolean
---@field since? string  the first of them

---@class pawl.CountedOutbox: pawl.Counted
---@field since? string       when the first of them was emitted
---@field dead pawl.Counted   set aside, and not among them

---@class pawl.Recent
---@field since string
---@field started integer
---@field completed integer
---@field failed integer
---@field cancelled integer

---@class pawl.StoreStats
---@field at string
---@field workflows { workflow: string, version: integer, statuses: table<string, integer>, nodes: { node: string, status: string, count: integer }[], recent: pawl.Recent }[]
---@field recent pawl.Recent
---@field ready pawl.Counted    what may be claimed; `versions`: by group and version
---@field late pawl.Counted     due, and no worker looks
---@field soon pawl.Counted     due within a minute
---@field orphaned pawl.Counted ready, and taken from executors that died
---@field outbox pawl.CountedOutbox  waits to be published
---@field tasks { open: pawl.Counted, overdue: pawl.Counted }
---@field held { count: integer, more: boolean, executors: integer, takeovers: integer, instances: table[] }

--- How the store stands: how many there are of each version and status, what is
--- due, who holds what, what waits to be published and to be done.
---@param query? pawl.StatsQuery
---@param how? "json"  as JSON text
---@return pawl.StoreStats|string? stats
---@return pawl.Error? err
function Engine:stats(query, how) end

---@class pawl.ProblemQuery
---@field workflow? string  its code
---@field limit? integer    20

---@class pawl.FailureKind
---@field workflow string
---@field code string       of the error
---@field node string
---@field count integer
---@field more boolean      there are more
---@field first string
---@field last string
---@field example string    the one that failed last
---@field message? string   its error's

--- What has failed and stays so, or was suspended by an error, by kind; those
--- with the most first.
---@param query? pawl.ProblemQuery
---@param how? "json"  as JSON text
---@return { problems: pawl.FailureKind[], more: boolean }|string? report
---@return pawl.Error? err
function Engine:problems(query, how) end

---@class pawl.Problem
---@field instance string
---@field workflow? string
---@field node? string
---@field what "run"|"time"|"letter"|"event"|"items"|"stray"|"unserved"
---@field text string
---@field group? string  whose worker is missing

---@class pawl.Health
---@field sound boolean
---@field instances integer  that live, and were looked at
---@field agenda { rows: integer, due: integer, held: integer }
---@field unseen integer  wait for what is there, and nobody will look
---@field stray integer   agenda rows that lead to no instance
---@field unserved integer  due for a minute, and no worker of their group runs
---@field repaired integer
---@field problems pawl.Problem[]  the first hundred
---@field store pawl.StoreCondition     how the store itself is
---@field warnings { what: "clock"|"transaction"|"wal"|"dead", text: string }[]

--- What a store does not have, or this role may not see, is null.
---@class pawl.StoreCondition
---@field kind "sqlite"|"postgres"  which store it is
---@field schema integer     the newest migration
---@field clock_us integer   how far its clock is ahead of this host's
---@field oldest_lease? string
---@field oldest_transaction? string  since when it is open
---@field bytes integer
---@field free_bytes? integer  of a file
---@field wal_bytes? integer
---@field dead_rows? integer
---@field tables { table: string, rows: integer, dead: integer, bytes: integer }[]
---@field hidden string[]    what this role may not see, or not all of it

--- What is wrong in the store, read in pages beside workers at work. `repair`:
--- the unseen are put on the agenda, so that a worker looks at them, stray rows
--- are taken off, and what the unserved were asked, to end as a rule, is done.
---@param options? { repair?: boolean }
---@param how? "json"  as JSON text
---@return pawl.Health|string? report
---@return pawl.Error? err
function Engine:health(options, how) end

--- Takes away what is past its time. What is given here counts for all; else
--- a workflow's `retain`, else the engine's; else all is kept. "busy" while
--- another executor is at it.
---@param options? pawl.PruneOptions
---@param how? "json"  as JSON text
---@return pawl.PruneReport|string? report
---@return pawl.Error? err
function Engine:prune(options, how) end

--- New instances of this version may be started.
---@param code string
---@param version integer
---@param options? pawl.Asked
---@return table? info
---@return pawl.Error? err
function Workflows:activate(code, version, options) end

--- No new ones are; those that run go on.
---@param code string
---@param version integer
---@param options? pawl.Asked
---@return table? info
---@return pawl.Error? err
function Workflows:deactivate(code, version, options) end

--- No version of it starts, also none that is loaded later; what runs goes on.
---@param code string
---@param options? pawl.Asked
---@return table? info
---@return pawl.Error? err
function Workflows:off(code, options) end

--- Those versions start again that did before.
---@param code string
---@param options? pawl.Asked
---@return table? info
---@return pawl.Error? err
function Workflows:on(code, options) end

--- Which registered workflows are listed, by code and version.
---@class pawl.WorkflowQuery
---@field workflow? string  a code
---@field prefix? string    what codes begin with
---@field search? string    a text in code, name or description, in either case
---@field active? boolean   true: whose instances may be started; false: others
---@field limit? integer    default: all
---@field after? string     "CODE@VERSION" of a page's last row: the page behind
---@field live? boolean     also how many instances are unfinished: slow

---@class pawl.ListedWorkflow
---@field workflow string
---@field version integer
---@field revision integer
---@field name string
---@field description string
---@field active boolean     its instances may be started
---@field suspended boolean
---@field inline boolean     only engines that have loaded it run it
---@field nodes integer
---@field sha256 string
---@field created string
---@field modified string
---@field by? string
---@field reason? string
---@field live? integer      unfinished instances, when asked for

--- What is registered.
---@param query? pawl.WorkflowQuery
---@param how? "table"|"json"
---@return pawl.ListedWorkflow[]? workflows
---@return pawl.Error? err
function Workflows:list(query, how) end

---@class pawl.WorkflowRevision
---@field revision integer
---@field current boolean    the one that runs
---@field sha256 string
---@field created string
---@field modified string
---@field by? string
---@field reason? string     of a hot-fix

---@class pawl.StoredWorkflow
---@field workflow string
---@field version integer
---@field revision integer
---@field current boolean    this revision is the one that runs
---@field name string
---@field description string
---@field active boolean
---@field suspended boolean
---@field inline boolean
---@field sha256 string      of source and bundle
---@field created string
---@field modified string
---@field group? string      of the engine that registered it
---@field by? string
---@field reason? string
---@field source? string     none of an inline one
---@field bundle table<string, string>  the source of each module
---@field graph table
---@field schema? table      JSON Schema of its declared input
---@field revisions pawl.WorkflowRevision[]  of this version, oldest first

--- All that is stored of a workflow.
---@param code string
---@param version? integer  default: the newest that is active, else the newest
---@param options? { revision?: integer }  default: the one that runs
---@param how? "table"|"json"
---@return pawl.StoredWorkflow? workflow
---@return pawl.Error? err
function Workflows:get(code, version, options, how) end

--- The engine's time: the store's, the host's or the clock's.
---@return number seconds  since 1970
function Engine:now() end

--- The engine's own id, as the rows of a history and a lease name it.
---@return string id
function Engine:executor_id() end

--- Whether pawl.open has made the store, which was empty then.
---@return boolean
function Engine:is_new() end

--- What this engine has asked of its store so far.
---@return { trips: integer, statements: integer, transactions: integer, waited: number }
function Engine:count() end

--- What the engine has of its memory, in bytes: now, and at the most so far;
--- `limit` 0: none; `refused` requests, and handlers that were stopped before
--- that. `store`: what SQLite holds beside. A state of the program's own does
--- not count.
---@return { used: integer, peak: integer, limit: integer, refused: integer, store: integer }
function Engine:memory() end

--- Makes the running tick stop after the handler under way.
function Engine:interrupt() end

--- Releases what is leased and closes. May be called again.
function Engine:close() end

--- What a handler gets. Only `run` of a step and `undo` may change vars,
--- token.data and attrs, emit, note, signal, publish, answer and start; the
--- former alone may escalate.
---@class pawl.Ctx
---@field vars table              the instance's variables; changes are kept
---@field input any               what it was started with
---@field id string  the instance's
---@field workflow string  its code
---@field version integer  of the workflow that runs it
---@field node string  where this handler is
---@field attempt integer         from 1
---@field visit integer           of this node by this instance, from 1; the same
---                               for each attempt, and for the undo of it.
---                               Counted in its history when it is asked for
---@field token pawl.Token        the one that is here
---@field event? pawl.Event       what the last wait took
---@field tenant? string  whose instance it is
---@field correlation? string  what came along from who started it
---@field parent? string          the instance that has started it, if one has
---@field executor string         who runs this handler, as `pawl executors` lists
---@field group string            its group: "default" where none was given
---@field output table<string, any>  by a node's name, what that gave when it
---                               was passed last. In undo: what is taken back
---@field error? pawl.Caught      what has failed, where an `on_error` has led, and
---                               in `undo` of a failure
---@field attrs table<string, string|number|boolean|pawl.Typed>  what it is
---                        found by in lists; changes are kept
---@field db pawl.Db              in a transactional step
---@field host table<string, fun(value?: any): any>  functions that the program
---                               lends: pawl.OpenOptions.host, pawl_register
---@field now fun(): number       seconds since 1970
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, fields?: table)  a
---                        line for whoever runs this program
---@field cancelled fun(): boolean  is it asked to end? A handler that takes
---                        long may look
---@field progress? any           what was given to heartbeat last in this visit: by
---                               an earlier attempt, until this one gives some
---@field heartbeat fun(progress?: any): boolean  keeps the lease; true: the
---                               instance is to end. Raises "lease_lost"
---@field await pawl.Await      waits; others go on meanwhile
---@field emit fun(type: string, payload?: any)  leaves with this step's decision
---@field note fun(text: string, data?: any)  a row of history, in front of that
---                               of the step
---@field signal fun(event: pawl.SentEvent)  an event, sent when the step is stored
---@field escalate fun(name: string, data?: any)  an event for the nearest
---                               `on_event` around the step, which goes on
---@field publish fun(name: string, value: any)  shown to whoever asks, by
---                               engine:published, from this step's commit on
---@field answer fun(value: any, error?: string|{ code: string?, message: string? })
---                               what who sent ctx.event by engine:ask is told:
---                               a value, or nil and why there is none
---@field start fun(code: string, input?: any, options?: pawl.ChildOptions): string
---                               the id of an instance made with the decision
---@field callback fun(event: string): string  a secret token: who gives it to
---                               engine:complete sends this instance that event,
---                               once. The same for each attempt of this visit
---@field idempotency_key fun(): string  stable across retries of this visit

--- What a handler raises: `error { code = "card_declined" }`.
---@class pawl.Raised
---@field code? string     what `on_error` and `retry` name it by: 1 to 64 bytes;
---                        "script"
---@field message? string  for people; its code
---@field retry? false|number|string  false: it is not tried again; a duration:
---                        behind that, whatever its node's `retry` says of delays
---@field details? any     more of it, as JSON: in the history, and up to 4 KB
---                        in ctx.error

---@class pawl.Caught
---@field code string             "cancelled" in one that cleans up (on_cancel)
---@field message string  for people
---@field by? string               who has cancelled it
---@field source? string           "user", "parent", "event" ...
---@field node? string             where
---@field attempt? integer         in which attempt
---@field where? string            file and line
---@field trace? string  where in the code that was
---@field details? any  what `error { details = ... }` had, up to 4 KB

---@class pawl.SentEvent
---@field name string              "order.paid"
---@field key? string|integer      who waits for it with this key; it is kept for
---                                those that will
---@field instance? string         for this instance alone
---@field data? any  what it brings

--- In the `run` of a step that is not transactional, and in `undo`. Raises
--- "cancelled" and "timeout". A descriptor gives the events that are ready, or
--- nil and "timeout"; a predicate what it gave, once that is true.
---@alias pawl.Await
---| fun(seconds: number)
---| fun(predicate: fun(): any): any
---| fun(what: pawl.AwaitFd): ("r"|"w"|"rw")?, "timeout"?

---@class pawl.AwaitFd
---@field fd integer               socket:getfd()
---@field events? "r"|"w"|"rw"     "r"
---@field timeout? number          seconds

--- Where an instance stands; several after a fork.
---@class pawl.Token
---@field no integer       within the instance, from 1
---@field branch? string   of the fork it came from
---@field data table       its own variables, copied by a fork; changes are
---                        kept. In an `each`: item, index

--- What came from outside, by signal.
---@class pawl.Event
---@field name string        "payment.card"
---@field key? string  that it was sent with
---@field id string  that it was sent with, or was given
---@field source string      "" when none was given
---@field data any  what it brings
---@field received_at number  when: seconds since 1970

--- As pawl.StartOptions, for ctx.start.
---@class pawl.ChildOptions
---@field key? string          idempotency: one instance per key and workflow
---@field on_existing? "return"|"fail"|"replace"  who has the key; "return"
---@field reuse? "never"|"ended"|"failed"  may the key go on then? "never"
---@field version? integer     of the workflow; default: the newest
---@field priority? integer    higher runs first
---@field delay? number|string  begin later: seconds, or "2h"
---@field deadline? number|string  so long after it began it fails
---@field max_bytes? integer   that its variables may have
---@field tenant? string  whose it is
---@field group? string  the group of executors that runs it
---@field correlation? string  a text that goes along with all that it starts
---@field business_key? string  a text to find it by, which others may have too
---@field by? string  who starts it: for the history
---@field metadata? table  what others keep with it
---@field attributes? table<string, string|number|boolean|pawl.Typed>  by name,
---                        what it is found by in lists
---@field track? boolean       false: it is not recorded whose child it is
---@field parent_end? "cancel"|"leave"  when the parent ends first; "leave"

--- SQL in the transaction that records the step.
---@class pawl.Db
local Db = {}

---@param sql string      one statement; placeholders as the database has them
---@param ... any         one for each placeholder
---@return table[] rows
---@return integer changed
function Db:query(sql, ...) end

--- A workflow being drawn; every method returns it.
--- Methods and options are beside the kind of node: lua/pawl/kinds.
---@class pawl.Workflow
---@field code string
---@field version integer

return pawl
