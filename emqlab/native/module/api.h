/* What the module asks of the server: the module interface of Redis and Valkey, every function found by name when the
 * module is loaded. This file alone knows that interface. https://valkey.io/topics/modules-api-ref/ */

#include <stddef.h>
#include <stdint.h>
#ifdef EMQ_LIBC_ALLOC
#include <stdlib.h>
#endif

typedef struct Context Context;
typedef struct ServerString ServerString;
typedef struct Reply Reply;
typedef struct Key Key;
typedef struct User User;
typedef struct Command Command;
typedef int Handler(Context *, ServerString **, int);
typedef struct {
  uint64_t id, version;
} ServerEvent;
typedef void EventHandler(Context *, ServerEvent, uint64_t, void *);

/* returns, name, parameters: without these the module is not loaded */
#define NEEDED(API)                                                                        \
  API(void *, Alloc, (size_t))                                                             \
  API(void, Free, (void *))                                                                \
  API(void, Log, (Context *, const char *, const char *, ...))                             \
  API(int, IsModuleNameBusy, (const char *))                                               \
  API(void, SetModuleAttribs, (Context *, const char *, int, int))                          \
  API(int, CreateCommand, (Context *, const char *, Handler *, const char *, int, int, int)) \
  API(Command *, GetCommand, (Context *, const char *))                                    \
  API(int, SetCommandInfo, (Command *, const void *))                                      \
  API(int, IsKeysPositionRequest, (Context *))                                             \
  API(void, KeyAtPos, (Context *, int))                                                    \
  API(int, GetContextFlags, (Context *))                                                   \
  API(ServerString *, CreateString, (Context *, const char *, size_t))                     \
  API(void, FreeString, (Context *, ServerString *))                                       \
  API(const char *, StringPtrLen, (const ServerString *, size_t *))                        \
  API(Reply *, Call, (Context *, const char *, const char *, ...))                         \
  API(int, CallReplyType, (Reply *))                                                       \
  API(long long, CallReplyInteger, (Reply *))                                              \
  API(size_t, CallReplyLength, (Reply *))                                                  \
  API(const char *, CallReplyStringPtr, (Reply *, size_t *))                               \
  API(Reply *, CallReplyArrayElement, (Reply *, size_t))                                   \
  API(void, FreeCallReply, (Reply *))                                                      \
  API(int, ReplyWithLongLong, (Context *, long long))                                      \
  API(int, ReplyWithStringBuffer, (Context *, const char *, size_t))                       \
  API(int, ReplyWithString, (Context *, ServerString *))                                   \
  API(int, ReplyWithArray, (Context *, long))                                              \
  API(int, ReplyWithNull, (Context *))                                                     \
  API(int, ReplyWithError, (Context *, const char *))                                      \
  API(Key *, OpenKey, (Context *, ServerString *, int))                                    \
  API(void, CloseKey, (Key *))                                                             \
  API(int, KeyType, (Key *))                                                               \
  API(int, DeleteKey, (Key *))                                                             \
  API(void, SetModuleOptions, (Context *, int))                                            \
  API(int, SignalModifiedKey, (Context *, ServerString *))                                 \
  API(int, NotifyKeyspaceEvent, (Context *, int, const char *, ServerString *))            \
  API(int, Replicate, (Context *, const char *, const char *, ...))                        \
  API(char *, StringDMA, (Key *, size_t *, int))                                           \
  API(int, HashGet, (Key *, int, ...))                                                     \
  API(int, HashSet, (Key *, int, ...))                                                     \
  API(int, ZsetAdd, (Key *, double, ServerString *, int *))                                \
  API(int, ZsetRem, (Key *, ServerString *, int *))                                        \
  API(int, ZsetScore, (Key *, ServerString *, double *))                                   \
  API(int, ZsetFirstInScoreRange, (Key *, double, double, int, int))                       \
  API(ServerString *, ZsetRangeCurrentElement, (Key *, double *))                          \
  API(int, ZsetRangeNext, (Key *))                                                         \
  API(int, ZsetRangeEndReached, (Key *))                                                   \
  API(void, ZsetRangeStop, (Key *))                                                        \
  API(ServerString *, GetCurrentUserName, (Context *))                                     \
  API(unsigned long long, GetClientId, (Context *))                                        \
  API(ServerString *, GetClientUserNameById, (Context *, uint64_t))                        \
  API(int, SubscribeToServerEvent, (Context *, ServerEvent, EventHandler *))               \
  API(User *, GetModuleUserFromUserName, (ServerString *))                                 \
  API(void, FreeModuleUser, (User *))                                                      \
  API(int, ACLCheckKeyPermissions, (User *, ServerString *, int))                          \
  API(int, ACLCheckCommandPermissions, (User *, ServerString **, int))

/* Redis 7.0 has neither. */
#define WELCOME(API)                         \
  API(long long, CachedMicroseconds, (void)) \
  API(int, SetCommandACLCategories, (Command *, const char *))

#define DECLARE(type, name, takes) static type(*S_##name) takes;
NEEDED(DECLARE)
WELCOME(DECLARE)
#undef DECLARE

enum { OK = 0, ERR = 1 };
enum { OPEN_READ = 1, OPEN_WRITE = 2, OPEN_SILENTLY = 0xf << 16 };
/* A key counts as modified when we say so, not when a handle that could have written is closed. */
enum { OPTION_NO_IMPLICIT_SIGNAL = 1 << 1, OPTION_ASYNC_LOAD = 1 << 2, OPTION_SLOT_MIGRATION = 1 << 5 };
enum { EVENT_LOOP = 15, AFTER_SLEEP = 1 };
enum { EVENT_GENERIC = 1 << 2, EVENT_HASH = 1 << 6, EVENT_ZSET = 1 << 7 };
enum { ZADD_ADDED = 1 << 2, ZADD_UPDATED = 1 << 3 };
#define HASH_DELETE ((ServerString *)1)
enum { TYPE_EMPTY = 0, TYPE_STRING = 1, TYPE_LIST = 2, TYPE_HASH = 3, TYPE_SET = 4, TYPE_ZSET = 5, TYPE_STREAM = 7 };
enum { REPLY_STRING = 0, REPLY_ERROR = 1, REPLY_INTEGER = 2, REPLY_ARRAY = 3, REPLY_NULL = 4 };
enum { CONTEXT_CLUSTER = 1 << 5, CONTEXT_OOM = 1 << 10, CONTEXT_REPLICATED = 1 << 12, CONTEXT_LOADING = 1 << 13 };

/* What a key specification says, and what a key permission is checked against. */
enum {
  KEY_RO = 1 << 0,
  KEY_RW = 1 << 1,
  KEY_ACCESS = 1 << 4,
  KEY_UPDATE = 1 << 5,
  KEY_INSERT = 1 << 6,
  KEY_DELETE = 1 << 7,
  KEY_NONE = 1 << 8,
};
enum { SEARCH_INDEX = 2 };
enum { FIND_RANGE = 2 };
enum { ARGUMENT_STRING = 0, ARGUMENT_INTEGER = 1, ARGUMENT_KEY = 3, ARGUMENT_BLOCK = 8 };
enum { ARGUMENT_MULTIPLE = 1 << 1 };

typedef struct {
  const char *since, *changes;
} CommandHistory;

typedef struct {
  const char *notes;
  uint64_t flags;
  int search;
  union {
    struct {
      int position;
    } index;
    struct {
      const char *word;
      int from;
    } keyword;
  } begin;
  int find;
  union {
    struct {
      int last, step, limit;
    } range;
    struct {
      int count, first, step;
    } number;
  } keys;
} KeySpec;

typedef struct CommandArgument {
  const char *name;
  int type;
  int key_spec;
  const char *token, *summary, *since;
  int flags;
  const char *deprecated;
  struct CommandArgument *parts;
  const char *shown;
} CommandArgument;

typedef struct {
  int version;
  size_t history, key_spec, argument;
} CommandInfoVersion;

typedef struct {
  const CommandInfoVersion *version;
  const char *summary, *complexity, *since;
  CommandHistory *history;
  const char *tips;
  int arity;
  KeySpec *key_specs;
  CommandArgument *arguments;
} CommandInfo;

static const CommandInfoVersion INFO_VERSION = {1, sizeof(CommandHistory), sizeof(KeySpec), sizeof(CommandArgument)};

/* Finds every function; the name of one that this server lacks, or NULL. */
static const char *find_api(Context *context) {
  int (*get)(const char *, void *) = (int (*)(const char *, void *))((void **)context)[0];
#define FIND(type, name, takes) \
  if (get("RedisModule_" #name, &S_##name) != OK) S_##name = NULL;
  NEEDED(FIND)
  WELCOME(FIND)
#undef FIND
#ifdef EMQ_LIBC_ALLOC
  /* For a build with sanitizers, which watch over the C library's memory only. */
  S_Alloc = malloc;
  S_Free = free;
#endif
#define CHECK(type, name, takes) \
  if (!S_##name) return #name;
  NEEDED(CHECK)
#undef CHECK
  return NULL;
}
