-- reprocess: a dead letter goes back in line. No counter is reset.
-- KEYS row, dead, pending   ARGV id   reply 1, or -1 when the row is gone
local row, dead, pending = KEYS[1], KEYS[2], KEYS[3]
local id = ARGV[1]

if redis.call('EXISTS', row) == 0 then return -1 end
if redis.call('ZREM', dead, id) ~= 1 then return redis.error_reply('EMQSTATE not dead') end
redis.call('HDEL', row, 'last_error')
redis.call('HSET', row, 'state', 'pending')
redis.call('ZADD', pending, 0, id)
return 1
