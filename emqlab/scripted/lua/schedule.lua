-- schedule: one row, due later.
-- KEYS row, schedule   ARGV id, payload, mode, value   reply 1, or 0 when the row exists already
local row, schedule = KEYS[1], KEYS[2]
local id, payload, mode, value = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
local due = value
if mode == 'in' then
  local clock = redis.call('TIME')
  due = clock[1] * 1000 + math.floor(clock[2] / 1000) + value
end
redis.call('HSET', row, 'state', 'scheduled', 'attempts', '0', 'payload', payload)
redis.call('ZADD', schedule, due, id)
return 1
