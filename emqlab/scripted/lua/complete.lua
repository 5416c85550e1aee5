-- complete: whoever presents the current token retires the job; its row is deleted.
-- KEYS active, row   ARGV id, token, base   reply 1, or 0 when the row is gone
-- A flow's child also has KEYS dependencies, processed and row of its parent, ARGV parent, result.
local active, row, dependencies, processed, parent_row = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, token, base, parent, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- Put the lane back on the ring, and wake a worker, if it may be served and is not there already.
local function ring(group)
  if redis.call('SISMEMBER', base .. 'paused', group) == 1 then return end
  if redis.call('ZCARD', base .. 'g:' .. group .. ':pending') == 0 then return end
  local limit = redis.call('HGET', base .. 'glimit', group)
  if limit and not (tonumber(limit) > tonumber(redis.call('HGET', base .. 'gactive', group) or 0)) then return end
  if redis.call('LPOS', base .. 'ring', group) then return end
  redis.call('RPUSH', base .. 'ring', group)
  redis.call('LPUSH', base .. 'wake', '1')
  redis.call('LTRIM', base .. 'wake', 0, 63)
end

-- The group has one active job less.
local function free_slot(group)
  if redis.call('HINCRBY', base .. 'gactive', group, -1) <= 0 then
    redis.call('HDEL', base .. 'gactive', group)
  end
end

local attempts = redis.call('HGET', row, 'attempts')
if not attempts then return 0 end
if attempts ~= token then return redis.error_reply('EMQSTALE complete token mismatch') end
local group = redis.call('HGET', row, 'group')
local was_active = redis.call('ZREM', active, id) == 1
if group and was_active then
  free_slot(group)
  ring(group)
elseif group then
  local lane = base .. 'g:' .. group .. ':pending'
  redis.call('ZREM', lane, id)
  if redis.call('ZCARD', lane) == 0 then redis.call('LREM', base .. 'ring', 0, group) end
elseif not was_active then
  redis.call('ZREM', base .. 'pending', id)
end
if parent and was_active then
  local left = redis.call('DECR', dependencies)
  redis.call('HSET', processed, id, result)
  if left <= 0 then
    redis.call('ZADD', base .. 'pending', 0, parent)
    redis.call('HSET', parent_row, 'state', 'pending')
  end
end
redis.call('DEL', row)
redis.call('HINCRBY', base .. 'metrics:completed', 'count', 1)
return 1
