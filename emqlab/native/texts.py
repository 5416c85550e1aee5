"""Every text a native verb refuses with, in one table (SPEC 5)."""

WRONGTYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_INTEGER = b"ERR hash value is not an integer"
OVERFLOW = b"ERR increment or decrement would overflow"

NOPERM = b"NOPERM No permissions to access a key"

FENCE = b"EMQFENCE wire version "
HOST = b"EMQHOST unexpected reply"
KIND = b"EMQKIND job id must be JOB-namespaced"
LANE = b"EMQLANE lane row"
FLOW = b"EMQFLOW flow row"
GONE = b"EMQSTALE job gone"
NOT_ACTIVE = b"EMQSTATE not active"
NOT_DEAD = b"EMQSTATE not dead"

STALE_COMPLETE = b"EMQSTALE complete token mismatch"
STALE_DELAY = b"EMQSTALE delay token mismatch"
STALE_EXTEND = b"EMQSTALE extend token mismatch"
STALE_FAIL = b"EMQSTALE retry token mismatch"
STALE_REQUEUE = b"EMQSTALE requeue token mismatch"

ARGS = b"EMQARGS "
ARGS_KEYS = b"EMQARGS keys must be those of one queue, in the order of the verb"
ARGS_MODE = b"EMQARGS mode must be in or at"
WHY_POSITIVE = b" must be a whole number from 1 to 9223372036854775807"
WHY_NATURAL = b" must be a whole number from 0 to 9223372036854775807"
WHY_BEYOND = b" goes beyond the 64 bits of a time in milliseconds"

ARITY_HEAD = b"ERR wrong number of arguments for '"
ARITY_TAIL = b"' command"
