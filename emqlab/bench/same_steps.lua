-- The native claim's own steps as a script: what the same promises would cost in Lua. Only `emqlab bench` runs it.
-- It can't ask for the caller's rights on derived keys, and learns the epoch from its caller.
-- KEYS pending, active, base   ARGV lease_ms, run_id   reply {id, payload, attempts}, or {}
local pending, active, base = KEYS[1], KEYS[2], KEYS[3]
local WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'

local function kind_of(key)
  return redis.call('TYPE', key).ok
end

-- shape, layout, values
if #KEYS ~= 3 or #ARGV ~= 2 then return redis.error_reply('ERR wrong number of arguments') end
if not string.match(base, '^emq:{.+}:$') or pending ~= base .. 'pending' or active ~= base .. 'active' then
  return redis.error_reply('EMQARGS keys must be those of one queue, in the order of the verb')
end
if not string.match(ARGV[1], '^[1-9]%d*$') then
  return redis.error_reply('EMQARGS lease_ms must be a whole number from 1 to 9223372036854775807')
end

-- fence
local version = redis.call('GET', '{emq}:version')
if version and version ~= 'echomq:3.0.0' then return redis.error_reply('EMQFENCE wire version ' .. version) end

-- reads and verdicts
if redis.call('HGET', base .. 'meta', 'paused') then return {} end
local head = redis.call('ZRANGE', pending, 0, 0)
if #head == 0 then return {} end
local id = head[1]
local row = base .. 'job:' .. id
local kind = kind_of(row)
if kind == 'none' then
  redis.call('ZPOPMIN', pending)
  return {}
end
if kind ~= 'hash' then return redis.error_reply(WRONGTYPE) end
local attempts = redis.call('HGET', row, 'attempts')
local token = tonumber(attempts or '0') + 1
local target = kind_of(active)
if target ~= 'zset' and target ~= 'none' then return redis.error_reply(WRONGTYPE) end
local clock = redis.call('TIME')
local deadline = clock[1] * 1000 + math.floor(clock[2] / 1000) + tonumber(ARGV[1])
local payload = redis.call('HGET', row, 'payload')

-- writes, each held to what was predicted
if redis.call('ZPOPMIN', pending)[1] ~= id then return redis.error_reply('EMQHOST unexpected reply') end
if redis.call('HINCRBY', row, 'attempts', 1) ~= token then return redis.error_reply('EMQHOST unexpected reply') end
redis.call('HSET', row, 'state', 'active', 'lease_epoch', ARGV[2])
redis.call('ZADD', active, deadline, id)
return {id, payload, token}
