/* The speed limit: EMQ.CLAIM by hand, as one server's programmer would write it, and the yardstick of `emqlab bench`.
 * It makes the checks and reads of emqlab/native/verbs/claim.py in their order, writes through the key interface, and
 * announces and replicates what it wrote, the row's three fields as one effect. No other verb, no trace, no generality.
 *
 * EMQLIMIT.CLAIM 3 pending active base lease_ms */

#include <limits.h>
#include <math.h>
#include <string.h>

#include "server.h"

enum { LONGEST_BASE = 256 };

static const char WRONGTYPE[] = "WRONGTYPE Operation against a key holding the wrong kind of value";
static const char NOPERM[] = "NOPERM No permissions to access a key";
static const char VERSION[] = "echomq:3.0.0";
static ServerString *VERSION_KEY, *ACTIVE, *RUN_ID;

/* All that one claim holds, let go of in one place. */
typedef struct {
  User *user;
  Key *version, *meta, *pending, *row, *active;
  ServerString *meta_name, *row_name, *id, *attempts, *payload, *next;
} Claim;

/* -- values */

/* A canonical decimal of 64 bits, as HINCRBY takes it. */
static int integer(const char *at, size_t size, long long *out) {
  if (size == 1 && *at == '0') return *out = 0, 1;
  int negative = size > 1 && *at == '-';
  size_t i = (size_t)negative;
  unsigned long long value = 0, most = (unsigned long long)LLONG_MAX + (unsigned long long)negative;
  if (size - i > 19 || i == size || at[i] < '1' || at[i] > '9') return 0;
  for (; i < size; i++) {
    if (at[i] < '0' || at[i] > '9') return 0;
    value = value * 10 + (unsigned long long)(at[i] - '0');
  }
  if (value > most) return 0;
  *out = negative ? (long long)(0 - value) : (long long)value;
  return 1;
}

static int is_text(ServerString *string, const char *head, size_t size, const char *tail) {
  size_t whole, more = strlen(tail);
  const char *at = S_StringPtrLen(string, &whole);
  return whole == size + more && memcmp(at, head, size) == 0 && memcmp(at + size, tail, more) == 0;
}

static long long now_ms(Context *context) {
  if (S_CachedMicroseconds) return S_CachedMicroseconds() / 1000;
  /* Redis 7.0 has no cached clock. */
  Reply *time = S_Call(context, "TIME", "");
  long long parts[2] = {0, 0};
  for (size_t i = 0; i < 2; i++) {
    size_t size;
    const char *at = S_CallReplyStringPtr(S_CallReplyArrayElement(time, i), &size);
    integer(at, size, &parts[i]);
  }
  S_FreeCallReply(time);
  return parts[0] * 1000 + parts[1] / 1000;
}

/* -- the steps: each answers NULL, or why the claim is refused */

static const char *layout(ServerString **argv, const char **base, size_t *size, long long *lease) {
  size_t count, digits;
  const char *number = S_StringPtrLen(argv[1], &count), *text = S_StringPtrLen(argv[5], &digits);
  if (count != 1 || *number != '3') return "ERR wrong number of arguments for 'emqlimit.claim' command";
  const char *at = *base = S_StringPtrLen(argv[4], size);
  if (*size < 8 || *size > LONGEST_BASE || memcmp(at, "emq:{", 5) != 0 || memcmp(at + *size - 2, "}:", 2) != 0 ||
      !is_text(argv[2], at, *size, "pending") || !is_text(argv[3], at, *size, "active"))
    return "EMQARGS keys must be those of one queue, in the order of the verb";
  if (!integer(text, digits, lease) || *lease < 1)
    return "EMQARGS lease_ms must be a whole number from 1 to 9223372036854775807";
  return NULL;
}

static const char *fence(Context *context, Claim *c) {
  ServerString *name = S_GetCurrentUserName(context);
  c->user = S_GetModuleUserFromUserName(name);
  S_FreeString(context, name);
  if (!c->user || S_ACLCheckKeyPermissions(c->user, VERSION_KEY, MAY_ACCESS) != OK) return NOPERM;
  c->version = S_OpenKey(context, VERSION_KEY, TO_READ);
  if (!c->version) return NULL;
  if (S_KeyType(c->version) != TYPE_STRING) return WRONGTYPE;
  size_t size;
  const char *at = S_StringDMA(c->version, &size, TO_READ);
  return size == sizeof VERSION - 1 && memcmp(at, VERSION, size) == 0 ? NULL : "EMQFENCE wire version";
}

static const char *paused(Context *context, Claim *c, int *yes) {
  if (S_ACLCheckKeyPermissions(c->user, c->meta_name, MAY_ACCESS) != OK) return NOPERM;
  c->meta = S_OpenKey(context, c->meta_name, TO_READ);
  if (!c->meta) return NULL;
  if (S_KeyType(c->meta) != TYPE_HASH) return WRONGTYPE;
  ServerString *flag = NULL;
  S_HashGet(c->meta, FIELDS_ARE_C, "paused", &flag, NULL);
  *yes = flag != NULL;
  if (flag) S_FreeString(NULL, flag);
  return NULL;
}

static const char *peek(Context *context, Claim *c, ServerString *pending) {
  c->pending = S_OpenKey(context, pending, TO_READ_AND_WRITE);
  int type = S_KeyType(c->pending);
  if (type == TYPE_EMPTY) return NULL;
  if (type != TYPE_ZSET) return WRONGTYPE;
  S_ZsetFirstInScoreRange(c->pending, -INFINITY, INFINITY, 0, 0);
  c->id = S_ZsetRangeCurrentElement(c->pending, NULL);
  S_ZsetRangeStop(c->pending);
  return NULL;
}

static const char *look_at_row(Context *context, Claim *c, int *ghost, long long *token) {
  if (S_ACLCheckKeyPermissions(c->user, c->row_name, MAY_ACCESS) != OK) return NOPERM;
  c->row = S_OpenKey(context, c->row_name, TO_READ_AND_WRITE);
  int type = S_KeyType(c->row);
  if ((*ghost = type == TYPE_EMPTY)) return NULL;
  if (type != TYPE_HASH) return WRONGTYPE;
  if (S_ACLCheckKeyPermissions(c->user, c->row_name, MAY_UPDATE | MAY_INSERT | MAY_DELETE) != OK) return NOPERM;
  S_HashGet(c->row, FIELDS_ARE_C, "attempts", &c->attempts, "payload", &c->payload, NULL);
  *token = 1;
  if (!c->attempts) return NULL;
  size_t size;
  const char *at = S_StringPtrLen(c->attempts, &size);
  if (!integer(at, size, token)) return "ERR hash value is not an integer";
  if (*token == LLONG_MAX) return "ERR increment or decrement would overflow";
  *token += 1;
  return NULL;
}

static const char *pop(Context *context, Claim *c, ServerString *pending) {
  int deleted = 0;
  S_ZsetRem(c->pending, c->id, &deleted);
  if (!deleted) return "EMQHOST unexpected reply";
  S_Replicate(context, "ZPOPMIN", "s", pending);
  S_NotifyKeyspaceEvent(context, EVENT_ZSET, "zpopmin", pending);
  if (S_KeyType(c->pending) == TYPE_EMPTY) S_NotifyKeyspaceEvent(context, EVENT_GENERIC, "del", pending);
  return NULL;
}

static void lease_it(Context *context, Claim *c, ServerString *active, long long token, long long deadline) {
  c->next = S_CreateStringFromLongLong(NULL, token);
  S_HashSet(c->row, FIELDS_ARE_C, "attempts", c->next, "state", ACTIVE, "lease_epoch", RUN_ID, NULL);
  S_NotifyKeyspaceEvent(context, EVENT_HASH, "hincrby", c->row_name);
  S_NotifyKeyspaceEvent(context, EVENT_HASH, "hset", c->row_name);
  S_Replicate(context, "HSET", "scscscs", c->row_name, "attempts", c->next, "state", ACTIVE, "lease_epoch", RUN_ID);
  S_ZsetAdd(c->active, (double)deadline, c->id, NULL);
  S_Replicate(context, "ZADD", "sls", active, deadline, c->id);
  S_NotifyKeyspaceEvent(context, EVENT_ZSET, "zadd", active);
}

/* -- the command */

static const char *claim(Context *context, ServerString **argv, Claim *c, long long *token) {
  const char *base, *why;
  size_t size, id_size;
  long long lease, deadline;
  int is_paused = 0, ghost = 0;
  if ((why = layout(argv, &base, &size, &lease)) || (why = fence(context, c))) return why;
  char meta[LONGEST_BASE + 4];
  memcpy(meta, base, size);
  memcpy(meta + size, "meta", 4);
  c->meta_name = S_CreateString(NULL, meta, size + 4);
  if ((why = paused(context, c, &is_paused)) || is_paused) return why;
  if ((why = peek(context, c, argv[2])) || !c->id) return why;
  const char *id = S_StringPtrLen(c->id, &id_size);
  char row[LONGEST_BASE + 4 + 256];
  if (id_size > 256) return "EMQARGS id is longer than the limit's own";
  memcpy(row, base, size);
  memcpy(row + size, "job:", 4);
  memcpy(row + size + 4, id, id_size);
  c->row_name = S_CreateString(NULL, row, size + 4 + id_size);
  if ((why = look_at_row(context, c, &ghost, token))) return why;
  if (ghost) return pop(context, c, argv[2]);
  c->active = S_OpenKey(context, argv[3], TO_READ_AND_WRITE);
  int type = S_KeyType(c->active);
  if (type != TYPE_ZSET && type != TYPE_EMPTY) return WRONGTYPE;
  if (__builtin_add_overflow(now_ms(context), lease, &deadline))
    return "EMQARGS lease_ms goes beyond the 64 bits of a time in milliseconds";
  if ((why = pop(context, c, argv[2]))) return why;
  lease_it(context, c, argv[3], *token, deadline);
  return NULL;
}

static void let_go(Claim *c) {
  Key *keys[] = {c->version, c->meta, c->pending, c->row, c->active};
  ServerString *strings[] = {c->meta_name, c->row_name, c->id, c->attempts, c->payload, c->next};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (keys[i]) S_CloseKey(keys[i]);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
    if (strings[i]) S_FreeString(NULL, strings[i]);
  if (c->user) S_FreeModuleUser(c->user);
}

static int claim_command(Context *context, ServerString **argv, int argc) {
  if (argc != 6) return S_ReplyWithError(context, "ERR wrong number of arguments for 'emqlimit.claim' command");
  Claim c = {0};
  long long token = 0;
  const char *why = claim(context, argv, &c, &token);
  if (why) {
    S_ReplyWithError(context, why);
  } else if (!token) {
    S_ReplyWithArray(context, 0);
  } else {
    S_ReplyWithArray(context, 3);
    S_ReplyWithString(context, c.id);
    if (c.payload)
      S_ReplyWithString(context, c.payload);
    else
      S_ReplyWithNull(context);
    S_ReplyWithLongLong(context, token);
  }
  let_go(&c);
  return OK;
}

static int read_run_id(Context *context) {
  Reply *answer = S_Call(context, "INFO", "c", "server");
  size_t size = 0;
  const char *text = answer ? S_CallReplyStringPtr(answer, &size) : NULL;
  for (size_t i = 0; text && !RUN_ID && i + 47 < size; i++)
    if (memcmp(text + i, "run_id:", 7) == 0) RUN_ID = S_CreateString(NULL, text + i + 7, 40);
  if (answer) S_FreeCallReply(answer);
  return RUN_ID != NULL;
}

int RedisModule_OnLoad(Context *context, ServerString **argv, int argc) {
  (void)argv;
  (void)argc;
  if (!find_api(context)) return ERR;
  S_SetModuleAttribs(context, "emqlimit", 1, 1);
  if (!read_run_id(context)) return ERR;
  VERSION_KEY = S_CreateString(NULL, "{emq}:version", 13);
  ACTIVE = S_CreateString(NULL, "active", 6);
  return S_CreateCommand(context, "emqlimit.claim", claim_command, "write", 2, 3, 1);
}
