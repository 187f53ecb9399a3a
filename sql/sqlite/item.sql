-- name: item_put
update pawl_item
   set state = @state, child = coalesce(@child, child), result = @result,
       error = @error
 where shard = @shard and instance = @id and token = @token and no = @no
   and {{lease_guard}};
