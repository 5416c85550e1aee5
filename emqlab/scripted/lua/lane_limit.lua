-- lane_limit: how many of the group's jobs may be active at once.
-- KEYS base   ARGV group, limit   reply 1
local base = KEYS[1]
local group, limit = ARGV[1], ARGV[2]

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

redis.call('HSET', base .. 'glimit', group, limit)
ring(group)
return 1
