-- reap: expired leases go back in line, a hundred a call. Nothing is counted, nobody dies.
-- KEYS active, pending   ARGV base   reply how many were looked at
local active, pending = KEYS[1], KEYS[2]
local base = ARGV[1]

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

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local expired = redis.call('ZRANGEBYSCORE', active, '-inf', now, 'LIMIT', 0, 100)
for _, id in ipairs(expired) do
  redis.call('ZREM', active, id)
  local row = base .. 'job:' .. id
  local group = redis.call('HGET', row, 'group')
  if group then
    free_slot(group)
    redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
    ring(group)
  else
    redis.call('ZADD', pending, 0, id)
  end
  redis.call('HSET', row, 'state', 'pending')
end
return #expired
