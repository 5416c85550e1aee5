-- flow_add: a parent that waits for its children, and the children in line.
-- KEYS base   ARGV parent, payload, policy or empty, then id and payload of every child
-- reply 1, or 0 when one of the rows exists already
local base = KEYS[1]
local parent, payload, policy = ARGV[1], ARGV[2], ARGV[3]

local ids, payloads = {parent}, {payload}
for place = 4, #ARGV, 2 do
  ids[#ids + 1] = ARGV[place]
  payloads[#ids] = ARGV[place + 1]
end
for _, id in ipairs(ids) do
  if string.sub(id, 1, 3) ~= 'JOB' then
    return redis.error_reply('EMQKIND job id must be JOB-namespaced')
  end
end
for _, id in ipairs(ids) do
  if redis.call('EXISTS', base .. 'job:' .. id) == 1 then return 0 end
end
local row = base .. 'job:' .. parent
redis.call('HSET', row, 'state', 'awaiting_children', 'attempts', '0', 'payload', payload)
redis.call('SET', row .. ':dependencies', #ids - 1)
for place = 2, #ids do
  local child = base .. 'job:' .. ids[place]
  redis.call('HSET', child, 'state', 'pending', 'attempts', '0', 'payload', payloads[place], 'parent', parent)
  if policy ~= '' then redis.call('HSET', child, 'parent_policy', policy) end
  redis.call('ZADD', base .. 'pending', 0, ids[place])
end
return 1
