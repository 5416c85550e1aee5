-- collect: take keys out whole and delete them, so that a round trip empties hundreds of queues.
-- KEYS none   ARGV the names, or none for all that a server has   reply {name, type, ttl_ms, value} for each key that is there
local read = {
  hash = function(name) return redis.call('HGETALL', name) end,
  zset = function(name) return redis.call('ZRANGE', name, 0, -1, 'WITHSCORES') end,
  string = function(name) return redis.call('GET', name) end,
  list = function(name) return redis.call('LRANGE', name, 0, -1) end,
  set = function(name) return redis.call('SMEMBERS', name) end,
}
local names = #ARGV > 0 and ARGV or redis.call('KEYS', '*')
local taken = {}
for i = 1, #names do
  local name = names[i]
  local kind = redis.call('TYPE', name).ok
  if kind ~= 'none' then
    taken[#taken + 1] = {name, kind, redis.call('PTTL', name), read[kind] and read[kind](name) or ''}
    redis.call('DEL', name)
  end
end
return taken
