/* What the hand-written claim asks of the server; its own list, so that the yardstick stays as it is when the module
 * changes. https://valkey.io/topics/modules-api-ref/ */

#include <stddef.h>

typedef struct Context Context;
typedef struct ServerString ServerString;
typedef struct Reply Reply;
typedef struct Key Key;
typedef struct User User;
typedef int Handler(Context *, ServerString **, int);

/* returns, name, parameters */
#define NEEDED(API)                                                                          \
  API(void, SetModuleAttribs, (Context *, const char *, int, int))                           \
  API(int, CreateCommand, (Context *, const char *, Handler *, const char *, int, int, int)) \
  API(ServerString *, CreateString, (Context *, const char *, size_t))                       \
  API(ServerString *, CreateStringFromLongLong, (Context *, long long))                      \
  API(void, FreeString, (Context *, ServerString *))                                         \
  API(const char *, StringPtrLen, (const ServerString *, size_t *))                          \
  API(Reply *, Call, (Context *, const char *, const char *, ...))                           \
  API(const char *, CallReplyStringPtr, (Reply *, size_t *))                                 \
  API(Reply *, CallReplyArrayElement, (Reply *, size_t))                                     \
  API(void, FreeCallReply, (Reply *))                                                        \
  API(int, ReplyWithLongLong, (Context *, long long))                                        \
  API(int, ReplyWithString, (Context *, ServerString *))                                     \
  API(int, ReplyWithArray, (Context *, long))                                                \
  API(int, ReplyWithNull, (Context *))                                                       \
  API(int, ReplyWithError, (Context *, const char *))                                        \
  API(Key *, OpenKey, (Context *, ServerString *, int))                                      \
  API(void, CloseKey, (Key *))                                                               \
  API(int, KeyType, (Key *))                                                                 \
  API(char *, StringDMA, (Key *, size_t *, int))                                             \
  API(int, HashGet, (Key *, int, ...))                                                       \
  API(int, HashSet, (Key *, int, ...))                                                       \
  API(int, ZsetFirstInScoreRange, (Key *, double, double, int, int))                         \
  API(ServerString *, ZsetRangeCurrentElement, (Key *, double *))                            \
  API(void, ZsetRangeStop, (Key *))                                                          \
  API(int, ZsetAdd, (Key *, double, ServerString *, int *))                                  \
  API(int, ZsetRem, (Key *, ServerString *, int *))                                          \
  API(int, Replicate, (Context *, const char *, const char *, ...))                          \
  API(int, NotifyKeyspaceEvent, (Context *, int, const char *, ServerString *))              \
  API(ServerString *, GetCurrentUserName, (Context *))                                       \
  API(User *, GetModuleUserFromUserName, (ServerString *))                                   \
  API(void, FreeModuleUser, (User *))                                                        \
  API(int, ACLCheckKeyPermissions, (User *, ServerString *, int))

/* Redis 7.0 has no cached clock. */
#define WELCOME(API) API(long long, CachedMicroseconds, (void))

#define DECLARE(type, name, takes) static type(*S_##name) takes;
NEEDED(DECLARE)
WELCOME(DECLARE)
#undef DECLARE

enum { OK = 0, ERR = 1 };
enum { TO_READ = 1, TO_READ_AND_WRITE = 3 };
enum { TYPE_EMPTY = 0, TYPE_STRING = 1, TYPE_HASH = 3, TYPE_ZSET = 5 };
enum { FIELDS_ARE_C = 1 << 2 };
enum { MAY_ACCESS = 1 << 4, MAY_UPDATE = 1 << 5, MAY_INSERT = 1 << 6, MAY_DELETE = 1 << 7 };
enum { EVENT_GENERIC = 1 << 2, EVENT_HASH = 1 << 6, EVENT_ZSET = 1 << 7 };

/* Finds every function; whether all that are needed are there. */
static int find_api(Context *context) {
  int (*get)(const char *, void *) = (int (*)(const char *, void *))((void **)context)[0];
  int lacking = 0;
#define FIND(type, name, takes) \
  if (get("RedisModule_" #name, &S_##name) != OK) S_##name = NULL;
  NEEDED(FIND)
  WELCOME(FIND)
#undef FIND
#define CHECK(type, name, takes) lacking += S_##name == NULL;
  NEEDED(CHECK)
#undef CHECK
  return !lacking;
}
