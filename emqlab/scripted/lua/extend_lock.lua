-- extend_lock: the holder moves its deadline to lease_ms from now.
-- KEYS active, row   ARGV id, token, lease_ms   reply 1, or -1 when the row is gone
local active, row = KEYS[1], KEYS[2]
local id, token = ARGV[1], ARGV[2]

local attempts = redis.call('HGET', row, 'attempts')
if not attempts then return -1 end
if attempts ~= token then return redis.error_reply('EMQSTALE extend token mismatch') end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZADD', active, now + tonumber(ARGV[3]), id)
return 1
