-- enqueue: one row and one place in line.
-- KEYS row, pending   ARGV id, payload   reply 1, or 0 when the row exists already
local row, pending = KEYS[1], KEYS[2]
local id, payload = ARGV[1], ARGV[2]

if string.sub(id, 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', row) == 1 then return 0 end
redis.call('HSET', row, 'state', 'pending', 'attempts', '0', 'payload', payload)
redis.call('ZADD', pending, 0, id)
return 1
