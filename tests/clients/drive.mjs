// Drives a server through node's `redis` package: a JSON request a line on standard input, a JSON answer a line.
//
//   node drive.mjs SOCKET RESP       (NODE_PATH names the folder the package is in)
//
// A request is {"how": "each" | "pipeline" | "multi", "commands": [[word in base64, …], …]}; its answer has a reply for
// each command: a number, null, a list, {"bytes": base64} or {"error": text}.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { createClient, RESP_TYPES } = createRequire(import.meta.url)("redis");
const [path, resp] = process.argv.slice(2);

const client = createClient({
  RESP: Number(resp),
  socket: { path, reconnectStrategy: false },
  commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
});
client.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
await client.connect();

function told(reply) {
  if (reply instanceof Error) return { error: reply.message };
  // In a transaction it makes strings, whatever it is asked for.
  if (Buffer.isBuffer(reply) || typeof reply === "string") return { bytes: Buffer.from(reply).toString("base64") };
  if (Array.isArray(reply)) return reply.map(told);
  if (reply === null || Number.isSafeInteger(reply)) return reply;
  throw new TypeError(`an unexpected reply: ${typeof reply} ${reply}`);
}

const one = (command) => client.sendCommand(command).catch((error) => error);

const ways = {
  async each(commands) {
    const replies = [];
    for (const command of commands) replies.push(await one(command));
    return replies;
  },
  // What is sent without waiting goes out in one packet; execAsPipeline would keep only the first error.
  pipeline: (commands) => Promise.all(commands.map(one)),
  multi(commands) {
    const multi = client.multi();
    for (const command of commands) multi.addCommand(command);
    // One refusal makes it reject; the replies are all there.
    return multi.exec().catch((error) => error.replies ?? Promise.reject(error));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const commands = request.commands.map((command) => command.map((word) => Buffer.from(word, "base64")));
  console.log(JSON.stringify((await ways[request.how](commands)).map(told)));
}
client.destroy();
