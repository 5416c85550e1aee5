/* Runs compiled Python outside of a server, for the tests: values come and go as bytes, and the host answers every
 * read and write with what it was asked. Built with verbs.h (the compiler's C) and table.h (its functions by number). */

#include "api.h"
#include "values.h"

#include <stdlib.h>

enum { CLOCK = 1700000000000 };

static Value echo(Call *c, const char *name, size_t count, const Value *args) {
  List *said = new_list(c, count + 1);
  append(c, LIST(said), BYTES(bytes_copy(c, name, strlen(name))));
  for (size_t i = 0; i < count; i++) append(c, LIST(said), args[i]);
  return LIST(said);
}

SHARED Value host_read(Call *c, Value command, size_t count, const Value *args) {
  return echo(c, command.bytes->at, count, args);
}
SHARED Value host_write(Call *c, Value command, size_t count, const Value *args) {
  return echo(c, command.bytes->at, count, args);
}
#define THROUGH_KEYS(phase, name, shown, count) \
  SHARED Value host_##phase##_##name(Call *c, const Value *args) { return echo(c, shown, count, args); }
THROUGH_KEYS(read, get, "GET", 1)
THROUGH_KEYS(read, exists, "EXISTS", 1)
THROUGH_KEYS(read, type, "TYPE", 1)
THROUGH_KEYS(read, hget, "HGET", 2)
THROUGH_KEYS(read, zscore, "ZSCORE", 2)
THROUGH_KEYS(read, zrange, "ZRANGE", 3)
THROUGH_KEYS(read, zrangebyscore, "ZRANGEBYSCORE", 6)
THROUGH_KEYS(write, del, "DEL", 1)
THROUGH_KEYS(write, hdel, "HDEL", 2)
THROUGH_KEYS(write, hincrby, "HINCRBY", 3)
THROUGH_KEYS(write, zadd, "ZADD", 3)
THROUGH_KEYS(write, zpopmin, "ZPOPMIN", 1)
THROUGH_KEYS(write, zrem, "ZREM", 2)
SHARED Value host_write_hset(Call *c, size_t count, const Value *args) { return echo(c, "HSET", count, args); }
SHARED Value host_open(Call *c, Value key, Value access) { return list(c, 2, (Value[]){key, access}); }
SHARED Value host_expect(Call *c, Value want, Value got) { return list(c, 2, (Value[]){want, got}); }
SHARED Value host_now_ms(Call *c) {
  (void)c;
  return INT(CLOCK);
}

#include "verbs.h"

typedef Value Function(Call *, const Value *);

#include "table.h"

/* -- values as bytes: a letter, then a number of 16 bytes, or a size of 4 bytes and what has it */

static uint32_t size_at(const char **at) {
  uint32_t size;
  memcpy(&size, *at, sizeof size);
  *at += sizeof size;
  return size;
}

static Value read_value(Call *c, const char **at) {
  char letter = *(*at)++;
  if (letter == 'N') return NONE;
  if (letter == 'i' || letter == '?') {
    __int128 number;
    memcpy(&number, *at, sizeof number);
    *at += sizeof number;
    return letter == 'i' ? INT(number) : BOOL(number);
  }
  uint32_t size = size_at(at);
  if (letter == 'b') {
    *at += size;
    return BYTES(bytes_copy(c, *at - size, size));
  }
  List *made = new_list(c, size);
  for (uint32_t i = 0; i < size; i++) append(c, LIST(made), read_value(c, at));
  return LIST(made);
}

typedef struct {
  char *at, *end;
} Out;

static void put(Out *out, const void *from, size_t size) {
  if ((size_t)(out->end - out->at) < size) abort();
  memcpy(out->at, from, size);
  out->at += size;
}

static void put_sized(Out *out, char letter, size_t size) {
  uint32_t shown = (uint32_t)size;
  put(out, &letter, 1);
  put(out, &shown, sizeof shown);
}

static void write_value(Out *out, Value value) {
  switch (value.kind) {
    case IS_NONE: put(out, "N", 1); break;
    case IS_BYTES:
      put_sized(out, 'b', value.bytes->size);
      put(out, value.bytes->at, value.bytes->size);
      break;
    case IS_LIST:
      put_sized(out, 'l', value.list->size);
      for (size_t i = 0; i < value.list->size; i++) write_value(out, value.list->items[i]);
      break;
    default: {
      __int128 number = value.number;
      put(out, value.kind == IS_BOOL ? "?" : "i", 1);
      put(out, &number, sizeof number);
    }
  }
}

static void answer(Call *c, int place, const char *in, Out *out) {
  if (setjmp(c->end)) {
    put_sized(out, 'e', c->refusal->size);
    put(out, c->refusal->at, c->refusal->size);
    return;
  }
  List *args = list_of(c, read_value(c, &in));
  write_value(out, TABLE[place](c, args->items));
}

/* Runs one function; how many bytes of the answer were written to out. */
__attribute__((visibility("default"))) long call_function(int place, const char *in, char *out, long room) {
  S_Alloc = malloc;
  S_Free = free;
  Call *c = calloc(1, sizeof *c);
  c->free = c->arena;
  c->free_end = c->arena + ARENA;
  Out written = {out, out + room};
  answer(c, place, in, &written);
  while (c->chunks) {
    Chunk *chunk = c->chunks;
    c->chunks = chunk->next;
    free(chunk);
  }
  free(c);
  return (long)(written.at - out);
}
