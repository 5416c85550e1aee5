-- retry: the holder reports a failure. The cap is on attempts, so every claim has spent budget.
-- KEYS active, schedule, dead, row   ARGV id, token, delay_ms, max_attempts, error, base
-- reply 'scheduled' or 'dead'
-- A flow's child also has KEYS failed, unsuccessful, dependencies and row of its parent, ARGV policy, parent.
local active, schedule, dead, row = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failed, unsuccessful, dependencies, parent_row = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local id, token, delay_ms, max_attempts = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local failure, base, policy, parent = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

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
if not attempts then return redis.error_reply('EMQSTALE job gone') end
if attempts ~= token then return redis.error_reply('EMQSTALE retry token mismatch') end
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
redis.call('HSET', row, 'last_error', failure)
if tonumber(attempts) >= max_attempts then
  redis.call('HSET', row, 'state', 'dead')
  redis.call('ZADD', dead, 0, id)
  redis.call('HINCRBY', base .. 'metrics:failed', 'count', 1)
  if parent and policy == 'id' then
    -- Ignored: the parent has one child less to wait for.
    redis.call('HSET', unsuccessful, id, failure)
    if redis.call('DECR', dependencies) <= 0 then
      redis.call('ZADD', base .. 'pending', 0, parent)
      redis.call('HSET', parent_row, 'state', 'pending')
    end
  elseif parent then
    -- The parent fails with its child.
    redis.call('HSET', failed, id, failure)
    redis.call('HSET', parent_row, 'state', 'dead')
    redis.call('ZADD', dead, 0, parent)
    redis.call('ZREM', base .. 'pending', parent)
  end
  return 'dead'
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('HSET', row, 'state', 'scheduled')
redis.call('ZADD', schedule, now + delay_ms, id)
return 'scheduled'
