-- delay: the holder gives the job back, due later. No budget is spent.
-- KEYS row, active, schedule   ARGV id, token, mode, value   reply 1
local row, active, schedule = KEYS[1], KEYS[2], KEYS[3]
local id, token, mode, value = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
local attempts = redis.call('HGET', row, 'attempts')
if not attempts then return redis.error_reply('EMQSTALE job gone') end
if attempts ~= token then return redis.error_reply('EMQSTALE delay token mismatch') end
redis.call('ZREM', active, id)
redis.call('HSET', row, 'state', 'scheduled')
local due = value
if mode == 'in' then
  local clock = redis.call('TIME')
  due = clock[1] * 1000 + math.floor(clock[2] / 1000) + value
end
redis.call('ZADD', schedule, due, id)
return 1
