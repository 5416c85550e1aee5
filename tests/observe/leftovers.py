"""Raw commands that leave something behind: on a connection, in Lua, among users or among clients."""

LEFTOVERS: list[list[list[str]]] = [
    [["MULTI"]],
    [["MULTI"], ["SET", "{p}x", "1"]],
    [["WATCH", "{p}pending"]],
    [["HELLO", "3"]],
    [["EVAL", "math.floor = function() return 1 end", "0"]],
    [["EVAL", "rawset(_G, 'tonumber', nil)", "0"]],
    [["ACL", "SETUSER", "default", "-@all"]],
    [["ACL", "SETUSER", "default", "off"]],
    [["ACL", "SETUSER", "default", "resetkeys", "~x"]],
    [["CLIENT", "KILL", "TYPE", "normal"]],
    [["CONFIG", "SET", "requirepass", "x"]],
    [["SCRIPT", "FLUSH"]],
    [["FLUSHALL"]],
]
