/* The writes of the verbs, through the key interface: each as its command does it, with its events and its
 * replication. Tests hold this way and the called one to the same effects. HINCRBY is called: set through this
 * interface a field would lose its time to live, which HINCRBY keeps. TOLD_WRITE returns: in a traced call the command
 * is called. */

#define TOLD_WRITE(command, count) \
  if (c->told) return called_write(c, command, count, args)

static Value called_write(Call *c, const char *command, size_t count, const Value *args) {
  return host_write(c, BYTES(bytes_copy(c, command, strlen(command))), count, args);
}

/* The handle of a key that is about to be written; its type was checked before the guard. */
static Handle *to_write(Call *c, Bytes *name, int type) {
  if (!c->writing) refuse_text(c, "EMQHOST a verb wrote before begin_writes");
  Handle *handle = handle_of(c, name);
  int found = S_KeyType(handle->key);
  if (found != TYPE_EMPTY && found != type) refuse_text(c, WRONGTYPE);
  return handle;
}

/* What a command leaves behind once it has changed its key; the key went with its last member, perhaps. */
static void changed(Call *c, Handle *handle, int kind, const char *command, const char *name, size_t count,
                    const Value *args) {
  replicated(c, handle, command, count, args);
  event(c, kind, name, handle->name);
  if (kind != EVENT_GENERIC && S_KeyType(handle->key) == TYPE_EMPTY) event(c, EVENT_GENERIC, "del", handle->name);
}

SHARED Value host_write_del(Call *c, const Value *args) {
  TOLD_WRITE("DEL", 1);
  if (!c->writing) refuse_text(c, "EMQHOST a verb wrote before begin_writes");
  Handle *handle = handle_of(c, bytes_of(c, args[0]));
  if (S_KeyType(handle->key) == TYPE_EMPTY || S_DeleteKey(handle->key) != OK) return INT(0);
  changed(c, handle, EVENT_GENERIC, "DEL", "del", 1, args);
  return INT(1);
}

SHARED Value host_write_hset(Call *c, size_t count, const Value *args) {
  TOLD_WRITE("HSET", count);
  Handle *handle = to_write(c, bytes_of(c, args[0]), TYPE_HASH);
  for (size_t i = 1; i + 1 < count; i += 2)
    S_HashSet(handle->key, 0, string_of(c, bytes_of(c, args[i])), string_of(c, bytes_of(c, args[i + 1])), NULL);
  changed(c, handle, EVENT_HASH, "HSET", "hset", count, args);
  /* How many fields are new is nothing that a verb expects. */
  return NONE;
}

SHARED Value host_write_hdel(Call *c, const Value *args) {
  TOLD_WRITE("HDEL", 2);
  Handle *handle = to_write(c, bytes_of(c, args[0]), TYPE_HASH);
  ServerString *field = string_of(c, bytes_of(c, args[1])), *found = NULL;
  if (S_KeyType(handle->key) == TYPE_EMPTY) return INT(0);
  S_HashGet(handle->key, 0, field, &found, NULL);
  if (!found) return INT(0);
  keep(c, found);
  S_HashSet(handle->key, 0, field, HASH_DELETE, NULL);
  changed(c, handle, EVENT_HASH, "HDEL", "hdel", 2, args);
  return INT(1);
}

SHARED Value host_write_zadd(Call *c, const Value *args) {
  TOLD_WRITE("ZADD", 3);
  Handle *handle = to_write(c, bytes_of(c, args[0]), TYPE_ZSET);
  int flags = 0;
  double score = (double)whole(c, args[1]).number;
  if (S_ZsetAdd(handle->key, score, string_of(c, bytes_of(c, args[2])), &flags) != OK)
    refuse_text(c, "EMQHOST the server did not take the score");
  if (flags & (ZADD_ADDED | ZADD_UPDATED)) changed(c, handle, EVENT_ZSET, "ZADD", "zadd", 3, args);
  return INT((flags & ZADD_ADDED) != 0);
}

SHARED Value host_write_zrem(Call *c, const Value *args) {
  TOLD_WRITE("ZREM", 2);
  Handle *handle = to_write(c, bytes_of(c, args[0]), TYPE_ZSET);
  int removed = 0;
  if (S_KeyType(handle->key) == TYPE_ZSET) S_ZsetRem(handle->key, string_of(c, bytes_of(c, args[1])), &removed);
  if (removed) changed(c, handle, EVENT_ZSET, "ZREM", "zrem", 2, args);
  return INT(removed);
}

/* Answers the member alone: a verb expects no score. */
SHARED Value host_write_zpopmin(Call *c, const Value *args) {
  TOLD_WRITE("ZPOPMIN", 1);
  Handle *handle = to_write(c, bytes_of(c, args[0]), TYPE_ZSET);
  Value head = members(c, S_KeyType(handle->key) == TYPE_ZSET ? handle->key : NULL, -INFINITY, INFINITY, 1);
  if (head.list->size == 0) return head;
  int removed = 0;
  S_ZsetRem(handle->key, string_of(c, head.list->items[0].bytes), &removed);
  if (!removed) return list(c, 0, NULL);
  changed(c, handle, EVENT_ZSET, "ZPOPMIN", "zpopmin", 1, args);
  return head;
}
