/* The Host of a real server (host.py says what each part means). Reads and writes go through the key interface, one
 * handle a key; a write is replicated as the command that it is: a replica and an append-only file get the effects, and
 * need neither module nor clock. In a traced call every read and write is a call, told as it is. */

/* Read when the module is loaded: the epoch, 40 hex characters. */
static Bytes RUN_ID;
static char RUN_ID_TEXT[41];

#include "keys.h"

#include "calls.h"

#include "reads.h"

#include "writes.h"

/* While its slot is on its way to another node, a key that is missing here may be there: nothing is known of it. */
static void check_here(Call *c, Bytes *name) {
  if (!c->cluster || S_KeyType(key_of(c, name)) != TYPE_EMPTY) return;
  close_keys(c);
  /* Two keys: of one alone the node that it goes to, told ASKING, would believe that it is nowhere. */
  Bytes *twin = sum(c, 2, (Value[]){BYTES(name), BYTES(bytes_copy(c, "?", 1))}).bytes;
  ServerString *given[] = {string_of(c, name), string_of(c, twin)};
  Reply *answer = S_Call(c->context, "EXISTS", "Ev", given, (size_t)2);
  int here = answer && S_CallReplyType(answer) == REPLY_INTEGER;
  if (answer) S_FreeCallReply(answer);
  if (!here) refuse_text(c, "TRYAGAIN a key of this queue is on its way to another node");
}

static void may_open(Call *c, Bytes *name, int access) {
  int wanted = access == OPEN_READ ? KEY_ACCESS : KEY_UPDATE | KEY_INSERT | KEY_DELETE;
  if (S_ACLCheckKeyPermissions(c->user, string_of(c, name), wanted) != OK) refuse_text(c, NOPERM);
}

static Value host_open(Call *c, Value key, Value access) {
  may_open(c, bytes_of(c, key), int_of(c, access));
  /* Every key of a queue begins with emq:{ and its name. */
  if (c->cluster && key.bytes->at[5] == '}')
    refuse_text(c, "EMQARGS keys of a queue whose name begins with } share no slot of a cluster");
  check_here(c, bytes_of(c, key));
  return NONE;
}

/* In a cluster the version is of another slot than the command, and servers that hold a table a slot look for it in the
 * command's. So it is read before the commands of each turn of the event loop, when there is no command. A node that
 * does not own it has none, and the fence passes: the lab checked when it opened. Two limits: it is that of database 0,
 * and a version that is set in the same packet as a verb is seen a turn later. */
static struct {
  int type;
  size_t size;
  char text[256];
} kept_version;

static void keep_version(Context *context, ServerEvent event, uint64_t part, void *data) {
  (void)event, (void)data;
  if (part != AFTER_SLEEP) return;
  ServerString *name = S_CreateString(NULL, VERSION_KEY, sizeof VERSION_KEY - 1);
  Key *key = S_OpenKey(context, name, OPEN_READ | OPEN_SILENTLY);
  kept_version.type = S_KeyType(key);
  if (kept_version.type == TYPE_STRING) {
    size_t size;
    const char *at = S_StringDMA(key, &size, OPEN_READ);
    kept_version.size = size < sizeof kept_version.text ? size : sizeof kept_version.text;
    memcpy(kept_version.text, at, kept_version.size);
  }
  if (key) S_CloseKey(key);
  S_FreeString(NULL, name);
}

static Value version_in_cluster(Call *c, Value key) {
  Bytes get = {"GET", 3, NULL};
  if (kept_version.type != TYPE_EMPTY && kept_version.type != TYPE_STRING) refuse_text(c, WRONGTYPE);
  Value version = kept_version.type == TYPE_EMPTY ? NONE : BYTES(bytes_copy(c, kept_version.text, kept_version.size));
  tell(c, "read", &get, 1, &key, version);
  return version;
}

static Value host_fence(Call *c) {
  Bytes *name = bytes_at(c, VERSION_KEY, sizeof VERSION_KEY - 1);
  Value key = BYTES(name);
  may_open(c, name, OPEN_READ);
  Value version = c->cluster ? version_in_cluster(c, key) : host_read_get(c, &key);
  if (version.kind == IS_NONE) return NONE;
  Bytes ours = {VERSION, sizeof VERSION - 1, NULL};
  if (same_bytes(version.bytes, &ours)) return NONE;
  refuse(c, sum(c, 2, (Value[]){BYTES(bytes_at(c, FENCE, sizeof FENCE - 1)), version}));
}

static Value host_begin_writes(Call *c) {
  c->writing = 1;
  tell(c, "guard", NULL, 0, NULL, NONE);
  return NONE;
}

static Value host_expect(Call *c, Value want, Value got) {
  if (got.kind == IS_LIST) got = got.list->size ? got.list->items[0] : NONE;
  if (!equal(want, got)) refuse_text(c, HOST);
  return NONE;
}

/* The clock that the server froze for the command; where it has none, its TIME, once. */
static Value host_now_ms(Call *c) {
  if (!c->now) {
    if (S_CachedMicroseconds) {
      c->now = S_CachedMicroseconds() / 1000;
    } else {
      Reply *answer = S_Call(c->context, "TIME", "E");
      Value time = answer ? from_reply(c, answer) : NONE;
      if (answer) S_FreeCallReply(answer);
      Value *parts = unpack(c, time, 2);
      c->now = (long long)(whole(c, parts[0]).number * 1000 + whole(c, parts[1]).number / 1000);
    }
    Bytes clock = {"(clock)", 7, NULL};
    if (c->told) tell(c, "read", &clock, 0, NULL, digits(c, INT(c->now)));
  }
  return INT(c->now);
}

static Value host_run_id(Call *c) {
  (void)c;
  return BYTES(&RUN_ID);
}
