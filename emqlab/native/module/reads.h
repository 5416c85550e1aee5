/* The reads of the verbs, through the key interface. TOLD_READ returns: in a traced call the command is called. */

#include <math.h>

#define TOLD_READ(command, count) \
  if (c->told) return read_called(c, command, count, args)

SHARED Value type_name(Call *c, int type) {
  const char *names[] = {"none", "string", "list", "hash", "set", "zset"};
  const char *name = type >= 0 && type < 6 ? names[type] : type == TYPE_STREAM ? "stream" : "other";
  return BYTES(bytes_at(c, name, strlen(name)));
}

SHARED Value host_read_type(Call *c, const Value *args) {
  TOLD_READ("TYPE", 1);
  return type_name(c, S_KeyType(key_of(c, bytes_of(c, args[0]))));
}

SHARED Value host_read_exists(Call *c, const Value *args) {
  TOLD_READ("EXISTS", 1);
  return INT(S_KeyType(key_of(c, bytes_of(c, args[0]))) != TYPE_EMPTY);
}

SHARED Value host_read_get(Call *c, const Value *args) {
  TOLD_READ("GET", 1);
  Key *key = key_as(c, bytes_of(c, args[0]), TYPE_STRING);
  if (!key) return NONE;
  size_t size;
  const char *at = S_StringDMA(key, &size, OPEN_READ);
  return BYTES(bytes_copy(c, at, size));
}

SHARED Value host_read_hget(Call *c, const Value *args) {
  TOLD_READ("HGET", 2);
  Key *key = key_as(c, bytes_of(c, args[0]), TYPE_HASH);
  ServerString *found = NULL;
  if (key) S_HashGet(key, 0, string_of(c, bytes_of(c, args[1])), &found, NULL);
  return found ? owned(c, found) : NONE;
}

SHARED Value host_read_zscore(Call *c, const Value *args) {
  TOLD_READ("ZSCORE", 2);
  Key *key = key_as(c, bytes_of(c, args[0]), TYPE_ZSET);
  double score;
  if (!key || S_ZsetScore(key, string_of(c, bytes_of(c, args[1])), &score) != OK) return NONE;
  /* Beyond this the server's way of printing a score is its own business. */
  if (fabs(score) > 9007199254740992.0 || score != (double)(int64_t)score || (score == 0 && signbit(score)))
    return read_called(c, "ZSCORE", 2, args);
  return digits(c, INT((int64_t)score));
}

/* Members in order, at most count, with scores from least to most. */
static Value members(Call *c, Key *key, double least, double most, __int128 count) {
  List *found = new_list(c, 0);
  if (!key || S_ZsetFirstInScoreRange(key, least, most, 0, 0) != OK) return LIST(found);
  while ((__int128)found->size < count && !S_ZsetRangeEndReached(key)) {
    ServerString *member = S_ZsetRangeCurrentElement(key, NULL);
    if (!member) break;
    append(c, LIST(found), owned(c, member));
    S_ZsetRangeNext(key);
  }
  S_ZsetRangeStop(key);
  return LIST(found);
}

SHARED Value host_read_zrange(Call *c, const Value *args) {
  int first = bytes_of(c, args[1])->size == 1 && bytes_of(c, args[2])->size == 1;
  if (c->told || !first || args[1].bytes->at[0] != '0' || args[2].bytes->at[0] != '0')
    return read_called(c, "ZRANGE", 3, args);
  return members(c, key_as(c, bytes_of(c, args[0]), TYPE_ZSET), -INFINITY, INFINITY, 1);
}

/* ZRANGEBYSCORE key -inf <digits> LIMIT 0 <digits>, the selection that every batch makes. */
SHARED Value host_read_zrangebyscore(Call *c, const Value *args) {
  int plain = bytes_of(c, args[1])->size == 4 && memcmp(args[1].bytes->at, "-inf", 4) == 0 &&
              truth(is_digit(c, args[2])) && bytes_of(c, args[4])->size == 1 && args[4].bytes->at[0] == '0';
  if (c->told || !plain) return read_called(c, "ZRANGEBYSCORE", 6, args);
  Key *key = key_as(c, bytes_of(c, args[0]), TYPE_ZSET);
  return members(c, key, -INFINITY, (double)whole(c, args[2]).number, whole(c, args[5]).number);
}
