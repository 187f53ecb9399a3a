-- Inside a transaction that a user holds (store.h): all have one name, and the
-- innermost is meant.

-- name: savepoint
savepoint held;

-- name: savepoint_release
release savepoint held;

-- name: savepoint_undo
-- It is still there afterwards.
rollback to savepoint held;
