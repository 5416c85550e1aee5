-- claim: pop the head of the line, count the attempt, start the lease. The count is the token.
-- KEYS pending, active, base   ARGV lease_ms   reply {id, payload, attempts}, or {}
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]

local head = redis.call('ZPOPMIN', pending)
if #head == 0 then return {} end
local id = head[1]
local row = base .. 'job:' .. id
-- The pop cannot be taken back, so a ghost (an id without a row) is spent here.
if redis.call('EXISTS', row) == 0 then return {} end
local attempts = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZADD', active, now + tonumber(ARGV[1]), id)
return {id, redis.call('HGET', row, 'payload'), attempts}
