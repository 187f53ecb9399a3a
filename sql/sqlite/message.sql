-- name: message_delete
delete from pawl_message
 where shard = @shard and instance = @id and seq = @seq;
