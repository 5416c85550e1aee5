-- lane_claim: the next group on the ring, and the head of its lane: one job a turn, then the ring turns on.
-- KEYS base   ARGV lease_ms   reply {id, payload, attempts, group}, or {}
local base = KEYS[1]
local ring = base .. 'ring'

local group = redis.call('LMOVE', ring, ring, 'LEFT', 'RIGHT')
if not group then return {} end
local lane = base .. 'g:' .. group .. ':pending'
local head = redis.call('ZPOPMIN', lane)
if #head == 0 then
  redis.call('LREM', ring, 0, group)
  return {}
end
local id = head[1]
local row = base .. 'job:' .. id
-- The pop cannot be taken back, so a ghost (an id without a row) is spent here.
if redis.call('EXISTS', row) == 0 then return {} end
local attempts = redis.call('HINCRBY', row, 'attempts', 1)
redis.call('HSET', row, 'state', 'active')
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZADD', base .. 'active', now + tonumber(ARGV[1]), id)
local busy = redis.call('HINCRBY', base .. 'gactive', group, 1)
local full = redis.call('ZCARD', lane) == 0
if not full then
  local limit = redis.call('HGET', base .. 'glimit', group)
  full = limit and not (tonumber(limit) > busy)
end
-- Nobody is left to serve there, or nobody may be: the group waits off the ring until somebody rings it.
if full then redis.call('LREM', ring, 0, group) end
return {id, redis.call('HGET', row, 'payload'), attempts, group}
