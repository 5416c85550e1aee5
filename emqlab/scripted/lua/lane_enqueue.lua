-- lane_enqueue: one row and one place in its group's own line.
-- KEYS row, base   ARGV id, payload, group   reply 1, or 0 when the row exists already
local row, base = KEYS[1], KEYS[2]
local id, payload, group = ARGV[1], ARGV[2], ARGV[3]

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

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload, 'group', group)
redis.call('ZADD', base .. 'g:' .. group .. ':pending', 0, id)
ring(group)
return 1
