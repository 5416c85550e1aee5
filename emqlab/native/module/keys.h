/* The keys of a call: the server's strings and handles, and what a write leaves to be done when the verb has ended, its
 * keyspace events and its replication. */

static void keep(Call *c, ServerString *string) {
  if (c->string_count == c->string_room) {
    size_t room = 4 * c->string_room;
    ServerString **strings = S_Alloc(room * sizeof *strings);
    memcpy(strings, c->strings, c->string_count * sizeof *strings);
    if (c->strings != c->first_strings) S_Free(c->strings);
    c->strings = strings;
    c->string_room = room;
  }
  c->strings[c->string_count++] = string;
}

SHARED ServerString *string_of(Call *c, Bytes *bytes) {
  if (!bytes->string) {
    bytes->string = S_CreateString(NULL, bytes->at, bytes->size);
    keep(c, bytes->string);
  }
  return bytes->string;
}

/* A string that the server made for us. */
SHARED Value owned(Call *c, ServerString *string) {
  keep(c, string);
  size_t size;
  const char *at = S_StringPtrLen(string, &size);
  Bytes *made = bytes_at(c, at, size);
  made->string = string;
  return BYTES(made);
}

static void close_key(Call *c, Handle *handle) {
  if (handle->key) S_CloseKey(handle->key);
  if (handle->last) S_SignalModifiedKey(c->context, string_of(c, handle->name));
  *handle = (Handle){0};
}

static void close_keys(Call *c) {
  for (int i = 0; i < HANDLES; i++)
    if (c->handles[i].name) close_key(c, &c->handles[i]);
}

/* The key, opened once to read and to write; whether it may be written was asked before. */
static Handle *handle_of(Call *c, Bytes *name) {
  Handle *oldest = c->handles;
  for (Handle *handle = c->handles; handle < c->handles + HANDLES; handle++) {
    if (handle->name && same_bytes(handle->name, name)) {
      handle->used = ++c->uses;
      return handle;
    }
    if (handle->used < oldest->used) oldest = handle;
  }
  if (oldest->name) close_key(c, oldest);
  Key *key = S_OpenKey(c->context, string_of(c, name), OPEN_READ | OPEN_WRITE);
  /* It may be gone this moment, its time being up, and another module that heard of it have touched any key. */
  if (S_KeyType(key) == TYPE_EMPTY) {
    close_keys(c);
    oldest = c->handles;
  }
  *oldest = (Handle){name, key, NULL, ++c->uses};
  return oldest;
}

static Key *key_of(Call *c, Bytes *name) { return handle_of(c, name)->key; }

/* The key if it is of one type, NULL if it is not there; another type is refused as the server refuses it. */
SHARED Key *key_as(Call *c, Bytes *name, int type) {
  Key *key = key_of(c, name);
  int found = S_KeyType(key);
  if (found == TYPE_EMPTY) return NULL;
  if (found != type) refuse_text(c, WRONGTYPE);
  return key;
}

static void event(Call *c, int kind, const char *name, Bytes *key) {
  Event *made = take(c, sizeof *made);
  *made = (Event){NULL, kind, name, key};
  *c->last_event = made;
  c->last_event = &made->next;
}

/* To be replicated: with what was written to the key before, when it is more of the same, else on its own. Writes to
 * different keys don't mind their order. */
static void replicated(Call *c, Handle *handle, const char *command, size_t count, const Value *args) {
  int members = command[0] == 'Z' && count > 1;
  Effect *effect = handle->last;
  if (!effect || !members || strcmp(effect->command, command) != 0) {
    effect = take(c, sizeof *effect);
    *effect = (Effect){NULL, command, 1, count, take(c, count * sizeof *effect->args)};
    effect->args[0] = string_of(c, bytes_of(c, args[0]));
    *c->last_effect = effect;
    c->last_effect = &effect->next;
    handle->last = effect;
  }
  if (effect->room < effect->count + count - 1) {
    effect->room = 2 * (effect->count + count);
    ServerString **room = take(c, effect->room * sizeof *room);
    memcpy(room, effect->args, effect->count * sizeof *room);
    effect->args = room;
  }
  for (size_t i = 1; i < count; i++) effect->args[effect->count++] = string_of(c, bytes_of(c, args[i]));
}

/* To replicas and to the append-only file, in order; the server makes one transaction of them. */
static void replicate(Call *c) {
  for (Effect *effect = c->effects; effect; effect = effect->next)
    S_Replicate(c->context, effect->command, "v", effect->args, effect->count);
  c->effects = NULL;
  c->last_effect = &c->effects;
}

/* Closes what is open, so that anybody may touch any key, and tells everybody. */
static void settle(Call *c) {
  close_keys(c);
  replicate(c);
  for (Event *event = c->events; event; event = event->next)
    S_NotifyKeyspaceEvent(c->context, event->kind, event->name, string_of(c, event->key));
  c->events = NULL;
  c->last_event = &c->events;
}
