/* Another module in the same server: it calls commands without being anybody, and acts on what it hears.
 *
 *   NEIGHBOUR.CALL command arg…   calls it, as nobody
 *   NEIGHBOUR.FOR command arg…    calls it, as its own caller
 *   NEIGHBOUR.AVENGE key          from now on deletes that key whenever any key expires */

#include <stddef.h>
#include <string.h>

typedef struct Context Context;
typedef struct String String;
typedef struct Reply Reply;
typedef int Handler(Context *, String **, int);
typedef int Listener(Context *, int, const char *, String *);

enum { OK = 0, ERR = 1, EVENT_EXPIRED = 1 << 8 };

static void (*SetModuleAttribs)(Context *, const char *, int, int);
static int (*CreateCommand)(Context *, const char *, Handler *, const char *, int, int, int);
static int (*Subscribe)(Context *, int, Listener *);
static Reply *(*Call)(Context *, const char *, const char *, ...);
static void (*FreeCallReply)(Reply *);
static int (*ReplyWithCallReply)(Context *, Reply *);
static int (*ReplyWithSimpleString)(Context *, const char *);
static int (*ReplyWithError)(Context *, const char *);
static const char *(*StringPtrLen)(const String *, size_t *);

static char victim[256];

static int pass_on(Context *context, String **argv, int argc, const char *how) {
  if (argc < 2) return ReplyWithError(context, "ERR name a command");
  Reply *reply = Call(context, StringPtrLen(argv[1], NULL), how, argv + 2, (size_t)(argc - 2));
  if (!reply) return ReplyWithError(context, "ERR the server did not run it");
  ReplyWithCallReply(context, reply);
  FreeCallReply(reply);
  return OK;
}

static int as_nobody(Context *context, String **argv, int argc) { return pass_on(context, argv, argc, "!Ev"); }

static int as_caller(Context *context, String **argv, int argc) { return pass_on(context, argv, argc, "!ECv"); }

static int heard(Context *context, int kind, const char *event, String *key) {
  (void)kind, (void)event, (void)key;
  if (victim[0]) {
    Reply *reply = Call(context, "DEL", "!c", victim);
    if (reply) FreeCallReply(reply);
  }
  return OK;
}

static int avenge(Context *context, String **argv, int argc) {
  size_t size;
  const char *key = argc == 2 ? StringPtrLen(argv[1], &size) : NULL;
  if (!key || size >= sizeof victim) return ReplyWithError(context, "ERR name one key");
  memcpy(victim, key, size);
  victim[size] = 0;
  return ReplyWithSimpleString(context, "OK");
}

int RedisModule_OnLoad(Context *context, String **argv, int argc) {
  (void)argv, (void)argc;
  int (*get)(const char *, void *) = (int (*)(const char *, void *))((void **)context)[0];
  int lacking = get("RedisModule_SetModuleAttribs", &SetModuleAttribs) || get("RedisModule_CreateCommand", &CreateCommand) ||
                get("RedisModule_SubscribeToKeyspaceEvents", &Subscribe) || get("RedisModule_Call", &Call) ||
                get("RedisModule_FreeCallReply", &FreeCallReply) ||
                get("RedisModule_ReplyWithCallReply", &ReplyWithCallReply) ||
                get("RedisModule_ReplyWithSimpleString", &ReplyWithSimpleString) ||
                get("RedisModule_ReplyWithError", &ReplyWithError) || get("RedisModule_StringPtrLen", &StringPtrLen);
  if (lacking) return ERR;
  SetModuleAttribs(context, "neighbour", 1, 1);
  if (CreateCommand(context, "neighbour.call", as_nobody, "write", 0, 0, 0) != OK) return ERR;
  if (CreateCommand(context, "neighbour.for", as_caller, "write", 0, 0, 0) != OK) return ERR;
  if (CreateCommand(context, "neighbour.avenge", avenge, "write", 0, 0, 0) != OK) return ERR;
  return Subscribe(context, EVENT_EXPIRED, heard);
}
