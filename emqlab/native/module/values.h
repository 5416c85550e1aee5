/* Python's values, as the verbs use them: None, int, bool, bytes, list (a tuple is one). They live as long as the call,
 * in its arena. A mistake that Python would raise for (a wrong type, a place that is not there) ends the call. */

#include <setjmp.h>
#include <string.h>

typedef struct {
  const char *at;
  size_t size;
  ServerString *string; /* the same bytes as the server's own string, once somebody asked for it */
} Bytes;

typedef enum { IS_NONE, IS_INT, IS_BOOL, IS_BYTES, IS_LIST, IS_ERROR } Kind;

typedef struct List List;

/* An int is as wide as the sum of two 64-bit ones needs: now + lease_ms must not wrap. */
typedef struct {
  Kind kind;
  union {
    __int128 number;
    Bytes *bytes;
    List *list;
  };
} Value;

struct List {
  size_t size, room;
  Value *items;
};

typedef struct Chunk {
  struct Chunk *next;
} Chunk;

enum { ARENA = 4096, CHUNK = 65536, HANDLES = 6, EARLY = 24 };

/* A write to be replicated at the end of the call, as the command that it is. Members added to one sorted set, or
 * removed from it, travel together. */
typedef struct Effect {
  struct Effect *next;
  const char *command;
  size_t count, room;
  ServerString **args;
} Effect;

/* A key of the call: opened once, closed at the end or when its place is needed. */
typedef struct {
  Bytes *name;
  Key *key;
  Effect *last; /* what was written to it last; NULL as long as nothing was, so it also says whether anything was */
  unsigned used;
} Handle;

/* A keyspace event to be sent once no handle is open: who hears it may touch any key. */
typedef struct Event {
  struct Event *next;
  int kind;
  const char *name;
  Bytes *key;
} Event;

/* One call of one verb. */
typedef struct {
  Context *context;
  User *user;
  List *told; /* what EMQ.TRACE tells; NULL in a plain call */
  int writing;
  int cluster;
  long long now;
  Bytes *refusal;
  jmp_buf end;
  Handle handles[HANDLES];
  unsigned uses;
  Effect *effects, **last_effect;
  Event *events, **last_event;
  ServerString **strings; /* to be freed at the end */
  size_t string_count, string_room;
  ServerString *first_strings[EARLY];
  Chunk *chunks;
  char *free, *free_end;
  char arena[ARENA] __attribute__((aligned(16)));
} Call;

#define SHARED static inline __attribute__((unused))
#define NONE ((Value){.kind = IS_NONE})
#define INT(x) ((Value){.kind = IS_INT, .number = (x)})
#define BOOL(x) ((Value){.kind = IS_BOOL, .number = (x)})
#define BYTES(x) ((Value){.kind = IS_BYTES, .bytes = (x)})
#define LIST(x) ((Value){.kind = IS_LIST, .list = (x)})
#define CONSTANT(i) BYTES(&CONSTANTS[i])

/* Ends the call: the verb's error reply. */
static _Noreturn void refuse_with(Call *c, Bytes *text) {
  c->refusal = text;
  longjmp(c->end, 1);
}

static _Noreturn void refuse_text(Call *c, const char *why);

static void *more(Call *c, size_t size) {
  size_t room = size > CHUNK / 4 ? size : CHUNK;
  Chunk *chunk = S_Alloc(sizeof *chunk + 16 + room);
  chunk->next = c->chunks;
  c->chunks = chunk;
  /* A Value needs 16 bytes' alignment, which not every server's memory has. */
  char *start = (char *)(((uintptr_t)(chunk + 1) + 15) & ~(uintptr_t)15);
  if (room == CHUNK) {
    c->free = start + size;
    c->free_end = start + room;
  }
  return start;
}

SHARED void *take(Call *c, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if ((size_t)(c->free_end - c->free) < size) return more(c, size);
  void *start = c->free;
  c->free += size;
  return start;
}

SHARED Bytes *bytes_at(Call *c, const char *at, size_t size) {
  Bytes *made = take(c, sizeof *made);
  *made = (Bytes){at, size, NULL};
  return made;
}

/* A copy that nobody else can free. */
SHARED Bytes *bytes_copy(Call *c, const char *at, size_t size) {
  char *copy = take(c, size + 1);
  memcpy(copy, at, size);
  copy[size] = 0;
  return bytes_at(c, copy, size);
}

static _Noreturn void refuse_text(Call *c, const char *why) { refuse_with(c, bytes_copy(c, why, strlen(why))); }

SHARED __int128 int_of(Call *c, Value x) {
  if (x.kind != IS_INT && x.kind != IS_BOOL) refuse_text(c, "EMQHOST TypeError: a number was expected");
  return x.number;
}

SHARED Bytes *bytes_of(Call *c, Value x) {
  if (x.kind != IS_BYTES) refuse_text(c, "EMQHOST TypeError: bytes were expected");
  return x.bytes;
}

SHARED List *list_of(Call *c, Value x) {
  if (x.kind != IS_LIST) refuse_text(c, "EMQHOST TypeError: a list was expected");
  return x.list;
}

SHARED int truth(Value x) {
  switch (x.kind) {
    case IS_NONE: return 0;
    case IS_BYTES: return x.bytes->size > 0;
    case IS_LIST: return x.list->size > 0;
    default: return x.number != 0;
  }
}

/* Keys and ids differ in their last byte, if they differ. */
SHARED int same_bytes(const Bytes *a, const Bytes *b) {
  if (a == b) return 1;
  if (a->size != b->size || (a->size && a->at[a->size - 1] != b->at[a->size - 1])) return 0;
  return memcmp(a->at, b->at, a->size) == 0;
}

SHARED int equal(Value a, Value b) {
  int numbers = (a.kind == IS_INT || a.kind == IS_BOOL) && (b.kind == IS_INT || b.kind == IS_BOOL);
  if (numbers) return a.number == b.number;
  if (a.kind != b.kind) return 0;
  if (a.kind == IS_BYTES) return same_bytes(a.bytes, b.bytes);
  if (a.kind != IS_LIST) return a.kind == IS_NONE;
  if (a.list->size != b.list->size) return 0;
  for (size_t i = 0; i < a.list->size; i++)
    if (!equal(a.list->items[i], b.list->items[i])) return 0;
  return 1;
}

SHARED int less(Call *c, Value a, Value b) { return int_of(c, a) < int_of(c, b); }

SHARED Value number(Call *c, __int128 x, int overflown) {
  if (overflown) refuse_text(c, "EMQHOST OverflowError: beyond 128 bits");
  return INT(x);
}

SHARED Value add(Call *c, Value a, Value b) {
  __int128 x;
  int overflown = __builtin_add_overflow(int_of(c, a), int_of(c, b), &x);
  return number(c, x, overflown);
}

SHARED Value subtract(Call *c, Value a, Value b) {
  __int128 x;
  int overflown = __builtin_sub_overflow(int_of(c, a), int_of(c, b), &x);
  return number(c, x, overflown);
}

/* As in Python, the sign is the divisor's. */
SHARED Value modulo(Call *c, Value a, Value b) {
  __int128 number = int_of(c, a), by = int_of(c, b);
  if (by == 0) refuse_text(c, "EMQHOST ZeroDivisionError");
  __int128 rest = by == -1 ? 0 : number % by;
  return INT(rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest);
}

/* a + b + …: numbers are added, bytes are joined. */
SHARED Value sum(Call *c, size_t count, const Value *parts) {
  if (parts[0].kind != IS_BYTES) {
    Value total = parts[0];
    for (size_t i = 1; i < count; i++) total = add(c, total, parts[i]);
    return total;
  }
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += bytes_of(c, parts[i])->size;
  char *joined = take(c, size + 1), *to = joined;
  for (size_t i = 0; i < count; i++) {
    memcpy(to, parts[i].bytes->at, parts[i].bytes->size);
    to += parts[i].bytes->size;
  }
  *to = 0;
  return BYTES(bytes_at(c, joined, size));
}

SHARED Value length(Call *c, Value x) {
  return INT(x.kind == IS_BYTES ? x.bytes->size : list_of(c, x)->size);
}

SHARED Value item(Call *c, Value x, Value place) {
  __int128 i = int_of(c, place), size = length(c, x).number;
  if (i < 0) i += size;
  if (i < 0 || i >= size) refuse_text(c, "EMQHOST IndexError");
  return x.kind == IS_LIST ? x.list->items[i] : INT((unsigned char)x.bytes->at[i]);
}

SHARED size_t cut(Call *c, Value place, size_t size) {
  __int128 i = int_of(c, place);
  if (i < 0) i += size;
  return i < 0 ? 0 : i > (__int128)size ? size : (size_t)i;
}

SHARED Value slice(Call *c, Value x, Value from, Value to) {
  size_t size = (size_t)length(c, x).number, start = cut(c, from, size), end = cut(c, to, size);
  if (end < start) end = start;
  if (x.kind == IS_BYTES) return BYTES(bytes_at(c, x.bytes->at + start, end - start));
  List *part = take(c, sizeof *part);
  /* No room of its own: an append copies. */
  *part = (List){end - start, end - start, x.list->items + start};
  return LIST(part);
}

SHARED List *new_list(Call *c, size_t room) {
  List *made = take(c, sizeof *made);
  if (room < 4) room = 4;
  *made = (List){0, room, take(c, room * sizeof(Value))};
  return made;
}

SHARED Value append(Call *c, Value x, Value last) {
  List *list = list_of(c, x);
  if (list->size == list->room) {
    size_t room = list->room < 4 ? 4 : 2 * list->room;
    Value *items = take(c, room * sizeof *items);
    if (list->size) memcpy(items, list->items, list->size * sizeof *items);
    list->items = items;
    list->room = room;
  }
  list->items[list->size++] = last;
  return NONE;
}

SHARED Value list(Call *c, size_t count, const Value *items) {
  List *made = new_list(c, count);
  if (count) memcpy(made->items, items, count * sizeof *items);
  made->size = count;
  return LIST(made);
}

SHARED Value *unpack(Call *c, Value x, size_t count) {
  if (list_of(c, x)->size != count) refuse_text(c, "EMQHOST ValueError: another number of values to unpack");
  return x.list->items;
}

SHARED Value is_digit(Call *c, Value x) {
  const Bytes *text = bytes_of(c, x);
  for (size_t i = 0; i < text->size; i++)
    if (text->at[i] < '0' || text->at[i] > '9') return BOOL(0);
  return BOOL(text->size > 0);
}

/* int() of bytes that the caller found to be digits, a minus in front perhaps. */
SHARED Value whole(Call *c, Value x) {
  const Bytes *text = bytes_of(c, x);
  size_t i = text->size && text->at[0] == '-' ? 1 : 0;
  if (i == text->size || text->size > 30) refuse_text(c, "EMQHOST ValueError: not a number");
  __int128 number = 0;
  for (; i < text->size; i++) {
    if (text->at[i] < '0' || text->at[i] > '9') refuse_text(c, "EMQHOST ValueError: not a number");
    number = number * 10 + (text->at[i] - '0');
  }
  return INT(text->at[0] == '-' ? -number : number);
}

/* b"%d" % x */
SHARED Value digits(Call *c, Value x) {
  __int128 number = int_of(c, x);
  unsigned __int128 rest = number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;
  char text[48], *at = text + sizeof text;
  /* Two loops: dividing 128 bits is slow, and nearly every number here has 64. */
  for (; rest > UINT64_MAX; rest /= 10) *--at = (char)('0' + (int)(rest % 10));
  uint64_t small = (uint64_t)rest;
  do *--at = (char)('0' + small % 10);
  while (small /= 10);
  if (number < 0) *--at = '-';
  return BYTES(bytes_copy(c, at, (size_t)(text + sizeof text - at)));
}

static _Noreturn void refuse(Call *c, Value text) { refuse_with(c, bytes_of(c, text)); }
