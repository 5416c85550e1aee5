/* The module: every verb as a command of the server, and EMQ.TRACE, which runs one and tells what it did.
 * Built from this file, its headers and verbs.h, which is what the compiler makes of the Python. */

#include <errno.h>
#include <strings.h>

#include "api.h"
#include "texts.h"
#include "values.h"

#include "host.h"

typedef Value Body(Call *, Value);

/* One verb: its name in lower case, its body, how many of its keys are keys to the server. */
typedef struct {
  const char *name;
  Body *body;
  Handler *handler;
  const char *flags;
  int keys;
  CommandInfo info;
} Verb;

static int run(Context *context, ServerString **argv, int argc, Body *body);
static int is_cluster;

#include "verbs.h"

/* -- one call */

static void reply_with(Context *context, Value value) {
  switch (value.kind) {
    case IS_NONE: S_ReplyWithNull(context); break;
    case IS_BYTES:
      if (value.bytes->string)
        S_ReplyWithString(context, value.bytes->string);
      else
        S_ReplyWithStringBuffer(context, value.bytes->at, value.bytes->size);
      break;
    case IS_LIST:
      S_ReplyWithArray(context, (long)value.list->size);
      for (size_t i = 0; i < value.list->size; i++) reply_with(context, value.list->items[i]);
      break;
    case IS_ERROR: S_ReplyWithError(context, value.bytes->at); break;
    default:
      if (value.number > INT64_MAX || value.number < INT64_MIN)
        S_ReplyWithError(context, "EMQHOST OverflowError: a reply beyond 64 bits");
      else
        S_ReplyWithLongLong(context, (long long)value.number);
  }
}

/* An error is one line: what a foreign version holds must not end it early. */
static Value error_line(Call *c, const Bytes *text) {
  Bytes *line = bytes_copy(c, text->at, text->size);
  for (char *at = (char *)line->at; at < line->at + line->size; at++)
    if (*at == '\r' || *at == '\n' || *at == 0) *at = ' ';
  return (Value){.kind = IS_ERROR, .bytes = line};
}

static void begin(Call *c, Context *context) {
  /* Not cleared whole: the arena is most of it. */
  memset(c, 0, offsetof(Call, first_strings));
  c->context = context;
  c->cluster = is_cluster;
  c->strings = c->first_strings;
  c->string_room = EARLY;
  c->chunks = NULL;
  c->last_effect = &c->effects;
  c->last_event = &c->events;
  c->free = c->arena;
  c->free_end = c->arena + ARENA;
}

static void finish(Call *c) {
  settle(c);
  if (c->user) S_FreeModuleUser(c->user);
  for (size_t i = 0; i < c->string_count; i++) S_FreeString(NULL, c->strings[i]);
  if (c->strings != c->first_strings) S_Free(c->strings);
  while (c->chunks) {
    Chunk *chunk = c->chunks;
    c->chunks = chunk->next;
    S_Free(chunk);
  }
}

/* The caller's user; NULL where there is none: another module may call without one, and the server's own question
 * falls over that. A client that is connected is asked for by its number; in a script, a call as its user is tried. */
static User *user_of(Context *context) {
  ServerString *name = S_GetClientUserNameById(context, S_GetClientId(context));
  if (!name) {
    errno = 0;
    Reply *probe = S_Call(context, "emq.nobody", "C");
    if (probe) S_FreeCallReply(probe);
    if (!probe && errno == ENOTSUP) return NULL;
    name = S_GetCurrentUserName(context);
  }
  User *user = S_GetModuleUserFromUserName(name);
  S_FreeString(context, name);
  return user;
}

/* Runs a body; its reply, or its refusal as an error. */
static Value answer(Call *c, ServerString **argv, int argc, Body *body) {
  if (setjmp(c->end)) return error_line(c, c->refusal);
  /* A link or a log has no user to ask the rights of, and needs no verb: it carries effects. */
  if (S_GetContextFlags(c->context) & (CONTEXT_REPLICATED | CONTEXT_LOADING))
    refuse_text(c, "EMQHOST a verb is for clients; replication and the append-only file carry its effects");
  c->user = user_of(c->context);
  if (!c->user) refuse_text(c, NOPERM);
  List *args = new_list(c, (size_t)argc);
  for (int i = 1; i < argc; i++) {
    size_t size;
    const char *at = S_StringPtrLen(argv[i], &size);
    Bytes *bytes = bytes_at(c, at, size);
    bytes->string = argv[i];
    args->items[args->size++] = BYTES(bytes);
  }
  return body(c, LIST(args));
}

static int run(Context *context, ServerString **argv, int argc, Body *body) {
  Call c;
  begin(&c, context);
  reply_with(context, answer(&c, argv, argc, body));
  finish(&c);
  return OK;
}

/* -- EMQ.TRACE verb numkeys key… arg…: [reply or error, [[phase, command…, reply], …]] */

enum { EMQ = sizeof "emq." - 1 };

/* The verb of a name, with or without its EMQ. */
static const Verb *verb_named(ServerString *word) {
  size_t size;
  const char *at = S_StringPtrLen(word, &size);
  for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++) {
    const char *name = VERBS[i].name;
    if (size == strlen(name) && strncasecmp(at, name, size) == 0) return &VERBS[i];
    if (size == strlen(name + EMQ) && strncasecmp(at, name + EMQ, size) == 0) return &VERBS[i];
  }
  return NULL;
}

static Value traced(Call *c, ServerString **argv, int argc, const Verb *verb) {
  List *told = new_list(c, 0);
  c->told = told;
  Value reply = answer(c, argv, argc, verb->body);
  return list(c, 2, (Value[]){reply, LIST(told)});
}

/* Whether the caller may run the verb itself, on these keys. */
static int may(Context *context, const Verb *verb, ServerString **argv, int argc) {
  User *user = user_of(context);
  ServerString **asked = S_Alloc((size_t)argc * sizeof *asked);
  memcpy(asked, argv, (size_t)argc * sizeof *asked);
  asked[0] = S_CreateString(NULL, verb->name, strlen(verb->name));
  int allowed = user && S_ACLCheckCommandPermissions(user, asked, argc) == OK;
  S_FreeString(NULL, asked[0]);
  S_Free(asked);
  if (user) S_FreeModuleUser(user);
  return allowed;
}

static int trace(Context *context, ServerString **argv, int argc) {
  const Verb *verb = argc > 1 ? verb_named(argv[1]) : NULL;
  if (S_IsKeysPositionRequest(context)) {
    for (int i = 0; verb && i < verb->keys && 3 + i < argc; i++) S_KeyAtPos(context, 3 + i);
    return OK;
  }
  if (!verb) return S_ReplyWithError(context, "EMQARGS verb must be one of the EMQ commands");
  if (S_GetContextFlags(context) & (CONTEXT_REPLICATED | CONTEXT_LOADING))
    return S_ReplyWithError(context, "EMQHOST a trace is for clients");
  if (!may(context, verb, argv + 1, argc - 1))
    return S_ReplyWithError(context, "NOPERM this user has no permissions to run the verb on these keys");
  if (strstr(verb->flags, "deny-oom") && S_GetContextFlags(context) & CONTEXT_OOM)
    return S_ReplyWithError(context, "OOM command not allowed when used memory > 'maxmemory'.");
  Call c;
  begin(&c, context);
  reply_with(context, traced(&c, argv + 1, argc - 1, verb));
  finish(&c);
  return OK;
}

static CommandArgument TRACE_ARGUMENTS[] = {
    {.name = "verb", .key_spec = -1},
    {.name = "argument", .key_spec = -1, .flags = ARGUMENT_MULTIPLE},
    {0},
};
static CommandInfo TRACE_INFO = {
    .version = &INFO_VERSION,
    .summary = "Runs a verb and tells every command that ran inside it, with its reply.",
    .complexity = "That of the verb.",
    .since = "1.0.0",
    .arity = -2,
    .arguments = TRACE_ARGUMENTS,
};

/* -- loading */

static int read_run_id(Context *context) {
  Reply *answer = S_Call(context, "INFO", "c", "server");
  size_t size;
  const char *text = answer && S_CallReplyType(answer) == REPLY_STRING ? S_CallReplyStringPtr(answer, &size) : NULL;
  int found = 0;
  for (size_t i = 0; text && !found && i + 47 < size; i++) {
    if (memcmp(text + i, "run_id:", 7) != 0) continue;
    memcpy(RUN_ID_TEXT, text + i + 7, 40);
    RUN_ID = (Bytes){RUN_ID_TEXT, 40, S_CreateString(NULL, RUN_ID_TEXT, 40)};
    found = 1;
  }
  if (answer) S_FreeCallReply(answer);
  return found;
}

static int declare(Context *context, const char *name, Handler *handler, const char *flags, const CommandInfo *info) {
  if (S_CreateCommand(context, name, handler, flags, 0, 0, 0) != OK) return ERR;
  Command *command = S_GetCommand(context, name);
  if (!command || S_SetCommandInfo(command, info) != OK) return ERR;
  return S_SetCommandACLCategories ? S_SetCommandACLCategories(command, "write") : OK;
}

/* The first command of the verbs that this server lacks, renamed perhaps, or NULL: its effects could not be replicated. */
static const char *lacking_command(Context *context) {
  static const char *const sent[] = {"DEL", "HSET", "HDEL", "HINCRBY", "ZADD", "ZREM", "ZPOPMIN"};
  const char *lacking = NULL;
  for (size_t i = 0; !lacking && i < sizeof sent / sizeof *sent; i++) {
    Reply *answer = S_Call(context, "COMMAND", "cc", "INFO", sent[i]);
    Reply *entry = answer ? S_CallReplyArrayElement(answer, 0) : NULL;
    if (!entry || S_CallReplyType(entry) != REPLY_ARRAY) lacking = sent[i];
    if (answer) S_FreeCallReply(answer);
  }
  return lacking;
}

static int refuse_to_load(Context *context, const char *why, const char *what) {
  if (S_Log) S_Log(context, "warning", "emqlab: %s %s", why, what);
  return ERR;
}

int RedisModule_OnLoad(Context *context, ServerString **argv, int argc) {
  (void)argv;
  (void)argc;
  const char *lacking = find_api(context);
  if (lacking)
    return refuse_to_load(context, "this server is too old, use Valkey 8 or Redis 7.0 or newer; it has no", lacking);
  if (S_IsModuleNameBusy("emq")) return refuse_to_load(context, "the verbs are loaded already,", "by another --loadmodule");
  S_SetModuleAttribs(context, "emq", 1, 1);
  S_SetModuleOptions(context, OPTION_NO_IMPLICIT_SIGNAL | OPTION_ASYNC_LOAD | OPTION_SLOT_MIGRATION);
  if (!read_run_id(context)) return refuse_to_load(context, "INFO tells no", "run_id");
  const char *command = lacking_command(context);
  if (command) return refuse_to_load(context, "this server was told to rename or forget a command of the verbs,", command);
  is_cluster = (S_GetContextFlags(context) & CONTEXT_CLUSTER) != 0;
  if (is_cluster && S_SubscribeToServerEvent(context, (ServerEvent){EVENT_LOOP, 1}, keep_version) != OK)
    return refuse_to_load(context, "the server tells no event", "EventLoop");
  for (size_t i = 0; i < sizeof CONSTANTS / sizeof *CONSTANTS; i++)
    CONSTANTS[i].string = S_CreateString(NULL, CONSTANTS[i].at, CONSTANTS[i].size);
  for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
    if (declare(context, VERBS[i].name, VERBS[i].handler, VERBS[i].flags, &VERBS[i].info) != OK)
      return refuse_to_load(context, "the server does not take the command", VERBS[i].name);
  if (declare(context, "emq.trace", trace, "write getkeys-api", &TRACE_INFO) != OK)
    return refuse_to_load(context, "the server does not take the command", "emq.trace");
  return OK;
}

int RedisModule_OnUnload(Context *context) {
  (void)context;
  for (size_t i = 0; i < sizeof CONSTANTS / sizeof *CONSTANTS; i++) S_FreeString(NULL, CONSTANTS[i].string);
  S_FreeString(NULL, RUN_ID.string);
  return OK;
}
