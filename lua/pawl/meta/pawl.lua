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

--- Begins a workflow; its nodes are added with its methods.
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
---@param options? { shards?: integer, pooler?: boolean }
---@return { from: integer, to: integer, shards: integer }? report
---@return pawl.Error? err
function pawl.migrate(url, options) end

---@class pawl.OpenOptions
---@field clock? fun(): number      seconds since 1970; tests and games
---@field log? fun(level: string, message: string, fields: table)
---@field trace? fun(t: pawl.Trace) handlers begin and end
---@field group? string             executor group; "default"
---@field prefixes? string|string[] codes served: "billing.,media."
---@field lease? number|string      how long a claim holds; 30 s
---@field heartbeat? number|string  10 s
---@field max_bytes? integer        variables of one instance; 1 MB
---@field batch? integer            instances claimed at once; 64
---@field recoveries? integer       takeovers before suspending; 5
---@field shards? integer           of a store made by this open; 1
---@field pooler? boolean           behind a pooler in transaction mode
---@field pulse? boolean            a helper thread keeps leases while a
---                                 handler blocks; not with a clock
---@field create? boolean           false: a missing store is an error
---@field stored_code? "any"|"own"  own: run no definition from the store
---@field unknown? "fail"|"defer"   workflows that nobody here knows
---@field state? "host"|"private"   where workflow files run; "host"

---@class pawl.Trace
---@field instance string
---@field workflow string
---@field node string
---@field kind string
---@field attempt integer
---@field at number        seconds since 1970
---@field elapsed? number  seconds; nil while it begins
---@field outcome? "done"|"failed"|"retry"|"fired"|"suspended"|"cancelled"
---@field ended? pawl.Status  the instance ends with this
---@field detail? string   where it leads, or the error
---@field due? number      when the engine looks again, if later

--- What failed; prints as one line.
---@class pawl.Error
---@field code string       stable: branch on this
---@field message string
---@field hint? string      what to do about it
---@field reason? string    the script's own: error{ code = ... }
---@field where? string     file:line, or the path of a value
---@field sqlstate? string
---@field trace? string     Lua traceback

---@class pawl.StartOptions
---@field key? string          idempotency: one instance per key and workflow
---@field version? integer     of the workflow; default: the newest
---@field priority? integer    higher runs first
---@field delay? number|string begin later: seconds, or "2h"
---@field at? number           begin then: seconds since 1970
---@field tenant? string
---@field group? string
---@field correlation? string
---@field business_key? string
---@field metadata? table
---@field attributes? table<string, string|number|boolean|pawl.Typed>
---@field id? string           a UUIDv7 of the caller's, safe to repeat

---@class pawl.Query
---@field workflow? string
---@field version? integer
---@field status? string|string[]
---@field tenant? string
---@field correlation? string
---@field business_key? string
---@field key? string
---@field limit? integer       100
---@field before? string       an id: the page after it

---@class pawl.RunOptions
---@field id? string              this instance alone
---@field wait? boolean           also wait for timers and retries
---@field timeout? number|string  of real time; then nil, err "timeout"

---@class pawl.Stats
---@field claimed integer    instances leased in this tick
---@field steps integer      handlers run
---@field commits integer    transactions
---@field committed integer  decisions stored
---@field lost integer       refused: another executor had taken over
---@field ended integer      instances that ended
---@field held integer       still leased when the tick returned
---@field next_due? number   when to look again; 0 now, nil nothing due

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
---@field tokens table[]    no, node, state, visit, attempt, due, entered
---@field times table      created, started, updated, completed
---@field due? string       when it is looked at next
---@field executor? string  who holds it
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
---@field commits integer   decisions stored so far

--- As in a list: without data and tokens, times beside the other fields.
---@class pawl.ListedInstance
---@field id string
---@field workflow string
---@field version integer
---@field status string
---@field node? string
---@field error? table
---@field created string
---@field started? string
---@field updated string
---@field completed? string

--- One store connection; see pawl.open. Closed by close, <close> or the
--- collector. Calls from inside its own handlers raise.
---@class pawl.Engine
local Engine = {}

--- Loads and checks a workflow file, or a workflow built here.
---@param workflow string|pawl.Workflow
---@return { workflow: string, version: integer, sha256: string }? info
---@return pawl.Error? err
function Engine:load(workflow) end

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
function Engine:graph(code, version) end

--- Stores a new instance. On return it will run, whatever dies next.
---@param code string
---@param input? any  {} when left out
---@param options? pawl.StartOptions
---@return string? id
---@return boolean|pawl.Error created  false: the key named an earlier one
function Engine:start(code, input, options) end

--- One instance; the id may be shortened.
---@param id string
---@param how? "table"|"json"  "json": the text, nulls and all
---@return pawl.Instance? instance
---@return pawl.Error? err
function Engine:get(id, how) end

--- Instances, newest first.
---@param query? pawl.Query
---@param how? "table"|"json"
---@return pawl.ListedInstance[]? instances
---@return pawl.Error? err
function Engine:list(query, how) end

--- Everything recorded of an instance, oldest first.
---@param id string
---@param how? "table"|"json"
---@return table[]? entries
---@return pawl.Error? err
function Engine:history(id, how) end

--- The full id of a shortened one.
---@param prefix string
---@return string? id
---@return pawl.Error? err  "ambiguous", "notfound"
function Engine:find(prefix) end

--- Runs what is due until the budget is spent; never waits.
---@param budget? number  seconds; 0: one round
---@return pawl.Stats? stats
---@return pawl.Error? err
function Engine:tick(budget) end

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

--- Sleeps so long, until something is due or interrupt is called.
---@param seconds number
---@return true? ok
---@return pawl.Error? err
function Engine:wait(seconds) end

--- Asks for cancellation.
---@param id string
---@param why? string|{ reason?: string, who?: string }
---@return true? ok
---@return boolean|pawl.Error done  false: its holder does it
function Engine:cancel(id, why) end

--- The engine's time: the store's, the host's or the clock's.
---@return number seconds  since 1970
function Engine:now() end

---@return { trips: integer, statements: integer, transactions: integer }
function Engine:counts() end

--- Makes the running tick stop after the handler under way.
function Engine:interrupt() end

--- Releases what is leased and closes. May be called again.
function Engine:close() end

--- What a handler gets.
---@class pawl.Ctx
---@field vars table              the instance's variables; changes are kept
---@field input any               what it was started with
---@field id string
---@field workflow string
---@field version integer
---@field node string
---@field attempt integer         from 1
---@field token table
---@field tenant? string
---@field correlation_id? string
---@field output? any             in undo: what the step produced
---@field attrs table<string, string|number|boolean|pawl.Typed>
---@field db pawl.Db              in a transactional step
---@field now fun(): number       seconds since 1970
---@field log fun(level: "debug"|"info"|"warn"|"error", message: string, fields?: table)
---@field cancelled fun(): boolean
---@field heartbeat fun(progress?: any)
---@field idempotency_key fun(): string  stable across retries of this visit

--- SQL in the transaction that records the step.
---@class pawl.Db
local Db = {}

---@param sql string      one statement; placeholders as the database has them
---@param ... any         one for each placeholder
---@return table[] rows
---@return integer changed
function Db:query(sql, ...) end

---@class pawl.StepOptions
---@field run fun(ctx: pawl.Ctx): string?, any  transition, output
---@field undo? fun(ctx: pawl.Ctx)
---@field next string|table<string, string>
---@field retry? table|integer|false  { max=, base=, cap=, factor=, jitter= }
---@field on_error? table<string, string>  by error code; "*" any other
---@field on_exhausted? "fail"|"suspend"
---@field timeout? number|string
---@field transactional? boolean

---@class pawl.ChoiceOptions
---@field choose fun(ctx: pawl.Ctx): string
---@field next table<string, string>

---@class pawl.TimerOptions
---@field after? number|string
---@field at? fun(ctx: pawl.Ctx): number|string
---@field next string

---@class pawl.FinishOptions
---@field status? "completed"|"failed"
---@field terminate? boolean
---@field output? fun(ctx: pawl.Ctx): any

--- A workflow being drawn; every method returns it.
---@class pawl.Workflow
---@field code string
---@field version integer
local Workflow = {}

---@param name string
---@param options pawl.StepOptions
---@return pawl.Workflow
function Workflow:step(name, options) end

---@param name string
---@param options pawl.ChoiceOptions
---@return pawl.Workflow
function Workflow:choice(name, options) end

---@param name string
---@param options pawl.TimerOptions
---@return pawl.Workflow
function Workflow:timer(name, options) end

---@param name string
---@param options? pawl.FinishOptions
---@return pawl.Workflow
function Workflow:finish(name, options) end

return pawl
