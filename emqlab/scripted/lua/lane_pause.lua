-- lane_pause: the group keeps its backlog and is not served.
-- KEYS base   ARGV group   reply 1
local base, group = KEYS[1], ARGV[1]

redis.call('SADD', base .. 'paused', group)
redis.call('LREM', base .. 'ring', 0, group)
return 1
