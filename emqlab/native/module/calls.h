/* Commands that are called rather than done through the key interface: all of a traced call, and those that the runtime
 * has no shorter way for. What is called may touch any key, so whatever is open is settled first. */

static Value from_reply(Call *c, Reply *reply) {
  size_t size;
  const char *text;
  switch (S_CallReplyType(reply)) {
    case REPLY_STRING: text = S_CallReplyStringPtr(reply, &size); return BYTES(bytes_copy(c, text, size));
    case REPLY_ERROR:
      text = S_CallReplyStringPtr(reply, &size);
      return (Value){.kind = IS_ERROR, .bytes = bytes_copy(c, text, size)};
    case REPLY_INTEGER: return INT(S_CallReplyInteger(reply));
    case REPLY_ARRAY: {
      size = S_CallReplyLength(reply);
      List *made = new_list(c, size);
      for (size_t i = 0; i < size; i++) made->items[i] = from_reply(c, S_CallReplyArrayElement(reply, i));
      made->size = size;
      return LIST(made);
    }
    default: return NONE;
  }
}

static void tell(Call *c, const char *phase, const Bytes *command, size_t count, const Value *args, Value reply) {
  if (!c->told) return;
  List *entry = new_list(c, count + 3);
  Value row = LIST(entry);
  append(c, row, BYTES(bytes_copy(c, phase, strlen(phase))));
  if (command) append(c, row, BYTES(bytes_copy(c, command->at, command->size)));
  for (size_t i = 0; i < count; i++) append(c, row, args[i]);
  append(c, row, reply);
  append(c, LIST(c->told), row);
}

static Value call(Call *c, const char *phase, const char *how, Bytes *command, size_t count, const Value *args) {
  ServerString *given[16];
  if (count > 16) refuse_text(c, "EMQHOST too many arguments");
  for (size_t i = 0; i < count; i++) given[i] = string_of(c, bytes_of(c, args[i]));
  settle(c);
  Reply *answer = S_Call(c->context, command->at, how, given, count);
  if (!answer) refuse_text(c, "EMQHOST the server did not run the command");
  Value reply = from_reply(c, answer);
  S_FreeCallReply(answer);
  tell(c, phase, command, count, args, reply);
  if (reply.kind == IS_ERROR) refuse_with(c, reply.bytes);
  return reply;
}

/* E: a refused call answers with an error reply, too. */
static Value host_read(Call *c, Value command, size_t count, const Value *args) {
  if (c->writing) refuse_text(c, "EMQHOST a verb read after begin_writes");
  return call(c, "read", "Ev", bytes_of(c, command), count, args);
}

/* !: to replicas and the append-only file. No M: a verb that was let in is never stopped half-way for memory. */
static Value host_write(Call *c, Value command, size_t count, const Value *args) {
  if (!c->writing) refuse_text(c, "EMQHOST a verb wrote before begin_writes");
  return call(c, "write", "!Ev", bytes_of(c, command), count, args);
}

static Value read_called(Call *c, const char *command, size_t count, const Value *args) {
  return host_read(c, BYTES(bytes_copy(c, command, strlen(command))), count, args);
}
