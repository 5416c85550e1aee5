-- extend_locks: one heartbeat for many jobs.
-- KEYS active   ARGV base, lease_ms, then id, token for each   reply the ids that were not extended
local active = KEYS[1]
local base = ARGV[1]

local refused = {}
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  if redis.call('HGET', base .. 'job:' .. id, 'attempts') == token then
    redis.call('ZADD', active, now + tonumber(ARGV[2]), id)
  else
    refused[#refused + 1] = id
  end
end
return refused
