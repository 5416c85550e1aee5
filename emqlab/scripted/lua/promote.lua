-- promote: what has come due goes back in line.
-- KEYS schedule, pending   ARGV base, batch   reply how many were looked at
local schedule, pending = KEYS[1], KEYS[2]
local base, batch = ARGV[1], tonumber(ARGV[2])

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

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', schedule, '-inf', now, 'LIMIT', 0, batch)
for _, id in ipairs(due) do
  redis.call('ZREM', schedule, id)
  local row = base .. 'job:' .. id
  local group = redis.call('HGET', row, 'group')
  if group then
    redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
    ring(group)
  else
    redis.call('ZADD', pending, 0, id)
  end
  redis.call('HSET', row, 'state', 'pending')
end
return #due
