-- collect: read keys whole, so that a round trip tells of hundreds of queues.
-- KEYS none   ARGV the names, which are deleted, or none for all that a server has, which the caller flushes
-- reply {name, type, ttl_ms, value} for each key that is there
local read = {
  hash = function(name) return redis.call('HGETALL', name) end,
  zset = function(name) return redis.call('ZRANGE', name, 0, -1, 'WITHSCORES') end,
  string = function(name) return redis.call('GET', name) end,
  list = function(name) return redis.call('LRANGE', name, 0, -1) end,
  set = function(name) return redis.call('SMEMBERS', name) end,
}
local whole = #ARGV == 0
local names = whole and redis.call('KEYS', '*') or ARGV
-- Hardly ever does any key have a time to live: then none is asked for it.
local timed = not whole or string.find(redis.call('INFO', 'keyspace'), 'expires=[1-9]') ~= nil
local taken = {}
for i = 1, #names do
  local name = names[i]
  local kind = redis.call('TYPE', name).ok
  if kind ~= 'none' then
    taken[#taken + 1] = {name, kind, timed and redis.call('PTTL', name) or -1, read[kind] and read[kind](name) or ''}
    if not whole then
      redis.call('DEL', name)
    end
  end
end
return taken
