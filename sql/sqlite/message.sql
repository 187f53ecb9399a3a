-- Messages: what one instance's commit asks of another, until delivered.

-- name: message_delete
delete from pawl_message
 where shard = @shard and instance = @id and seq = @seq;
