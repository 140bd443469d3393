// A pressure client in JavaScript, written from the documents alone: it speaks RESP by hand and needs nothing
// but node. It is judged as conformance.clients.adapter says: lines of JSON on its standard input and output.
// "node textbook.js dies" and the like do wrong what their name says, to see what the suite makes of it.

"use strict";
const crypto = require("crypto");
const net = require("net");
const os = require("os");
const readline = require("readline");

const FAULT = process.argv[2];
const SLICE = 0.5; // seconds a client waits for a role before it looks whether the queue is still there
const ROLES = { producer: ":producer_free", consumer: ":consumer_free" };
const STATS = ["produced_messages", "produced_bytes", "consumed_messages", "consumed_bytes"];
const BESIDE = [
  ":bound", ":producer", ":consumer", ":producer_free", ":consumer_free", ":not_full", ":closed",
  ...STATS.map((name) => `:stats:${name}`),
]; // what follows the name in all keys of a queue but that of its list

class Refusal extends Error {
  constructor(name, text) {
    super(text ?? name);
    this.refusal = name;
  }
}

class Connection {
  constructor(url) {
    this.url = url;
    this.buffer = Buffer.alloc(0);
    this.waiting = null;
  }

  async open() {
    const { hostname, port, pathname } = this.url;
    this.socket = net.connect({ host: hostname, port: Number(port || 6379), noDelay: true });
    await new Promise((resolve, reject) => this.socket.once("connect", resolve).once("error", reject)).catch(
      (error) => {
        this.socket = null;
        throw new Refusal("ConnectionFailedError", error.message);
      },
    );
    this.socket.removeAllListeners("error");
    this.socket.on("error", () => {});
    this.socket.on("close", () => this.lose());
    this.socket.on("data", (data) => this.take(data));
    const db = pathname.replace(/\//g, "");
    if (db) await this.ask("SELECT", db);
  }

  lose() {
    this.socket = null;
    if (this.waiting) this.waiting.reject(new Refusal("OutcomeUnknownError", "the connection was lost"));
  }

  take(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    const { values, count, resolve } = this.waiting;
    for (let read = this.reply(0); read; read = this.reply(0)) {
      this.buffer = this.buffer.subarray(read.end);
      values.push(read.value);
    }
    if (values.length === count) resolve(values);
  }

  reply(at) {
    const line = this.buffer.indexOf("\r\n", at);
    if (line < 0) return null;
    const head = this.buffer.toString("latin1", at + 1, line);
    const kind = String.fromCharCode(this.buffer[at]);
    let end = line + 2;
    if (kind === "$") {
      const size = Number(head);
      if (size < 0) return { value: null, end };
      if (this.buffer.length < end + size + 2) return null;
      return { value: this.buffer.toString("latin1", end, end + size), end: end + size + 2 };
    }
    if (kind === "*") {
      const items = Number(head) < 0 ? null : [];
      for (let left = Number(head); left > 0; left--) {
        const item = this.reply(end);
        if (!item) return null;
        items.push(item.value);
        end = item.end;
      }
      return { value: items, end };
    }
    if (kind === ":") return { value: Number(head), end };
    return { value: kind === "-" ? new Refusal("ServerReplyError", head) : head, end };
  }

  // The replies to commands that are sent at once.
  async all(...commands) {
    if (!this.socket) await this.open();
    const parts = [];
    for (const words of commands) {
      parts.push(Buffer.from(`*${words.length}\r\n`));
      for (const word of words) {
        const data = Buffer.from(String(word), "latin1");
        parts.push(Buffer.from(`$${data.length}\r\n`), data, Buffer.from("\r\n"));
      }
    }
    const count = commands.length;
    const answered = new Promise((resolve, reject) => (this.waiting = { values: [], count, resolve, reject }));
    this.socket.write(Buffer.concat(parts));
    return answered.finally(() => (this.waiting = null));
  }

  async ask(...words) {
    const [value] = await this.all(words);
    if (value instanceof Refusal) throw value;
    return value;
  }

  // The replies to a transaction, sent if so many of these keys exist: none if not, or if one has changed by then.
  async onlyIf(count, keys, ...commands) {
    const [, there] = await this.all(["WATCH", ...keys], ["EXISTS", ...keys]);
    if (there === count) return (await this.all(["MULTI"], ...commands, ["EXEC"])).at(-1);
    await this.ask("UNWATCH");
    return null;
  }
}

class Queue {
  constructor({ name, url, host, port, db, prefix }) {
    const env = process.env;
    const linked = /^tcp:\/\/(.*)$/.exec(env.REDIS_PORT ?? "")?.[1]; // as Kubernetes has it
    const server = linked ?? `${env.REDIS_SERVER ?? "127.0.0.1"}:${env.REDIS_PORT ?? 6379}`;
    const at = env.REDIS_URL ?? `redis://${server}/${env.REDIS_DB ?? 0}`;
    const where = host === undefined ? (url ?? at) : `redis://${host}:${port}/${db ?? 0}`;
    this.key = `${prefix ?? env.PRESSURE_PREFIX ?? "__pressure__"}:${name}`;
    this.redis = new Connection(new URL(where));
    this.me = `${os.hostname()}:${process.pid}/${crypto.randomBytes(6).toString("hex")}`;
  }

  ask(command, suffix, ...words) {
    return this.redis.ask(command, this.key + suffix, ...words);
  }

  async check() {
    if (!(await this.exists())) throw new Refusal("QueueDoesNotExistError");
  }

  async exists() {
    return (await this.ask("EXISTS", ":bound")) === 1;
  }

  async length() {
    await this.check();
    return this.ask("LLEN", "");
  }

  // A Delete removes the bound before it pushes marks, so they are looked for first.
  async closed() {
    const marked = (await this.ask("EXISTS", ":closed")) === 1;
    await this.check();
    return marked;
  }

  // Sends a command, unless the queue is deleted meanwhile.
  async unlessDeleted(command, suffix, ...words) {
    const replies = await this.redis.onlyIf(1, [`${this.key}:bound`], [command, this.key + suffix, ...words]);
    if (!replies) throw new Refusal("QueueDoesNotExistError");
    if (replies[0] instanceof Refusal) throw replies[0];
    return replies[0];
  }

  // One step, which is not taken while any key of the queue is there, nor for a name that is a key of another queue.
  async create({ bound = 0 }) {
    if (!Number.isInteger(bound) || bound < 0) throw new Refusal("ValueError", "a bound is 0 or more");
    const taken = ["", ...BESIDE].map((suffix) => this.key + suffix);
    const suffix = BESIDE.find((each) => this.key.endsWith(each));
    if (suffix) taken.push(`${this.key.slice(0, -suffix.length)}:bound`);
    const lists = [":producer_free", ":consumer_free", ":not_full"].map((list) => ["LPUSH", this.key + list, 1]);
    const created = await this.redis.onlyIf(0, taken, ["SET", `${this.key}:bound`, bound], ...lists);
    if (!created) throw new Refusal("QueueAlreadyExistsError");
  }

  // Waits until a list has something, the time is over, or it is so that nothing will come; a deadline of null is none,
  // 0 has passed already.
  async pop(lists, deadline, until = () => false) {
    for (;;) {
      const left = deadline === null ? SLICE : Math.min(SLICE, (deadline - Date.now()) / 1000);
      if (left < 0.002) {
        const value = await this.ask("RPOP", lists[0]);
        return value === null ? null : [lists[0], value];
      }
      const found = await this.redis.ask("BRPOP", ...lists.map((list) => this.key + list), left);
      if (found) return [found[0].slice(this.key.length), found[1]];
      if (await until()) return null;
    }
  }

  async inUse(role) {
    return new Refusal("QueueInUseError", `the ${role} is ${await this.ask("GET", `:${role}`)}`);
  }

  async withRole(role, deadline, work) {
    await this.check();
    if (role === "producer" && (await this.closed())) throw new Refusal("QueueClosedError");
    if (!(await this.pop([ROLES[role]], deadline, () => this.check()))) {
      throw await this.inUse(role);
    }
    let deleted = false;
    try {
      await this.ask("SET", `:${role}`, this.me);
      await this.check();
      return await work();
    } catch (error) {
      deleted = FAULT === "keeps-role" && error.refusal !== undefined;
      throw error;
    } finally {
      if (!deleted && this.redis.socket) await this.ask("LPUSH", ROLES[role], 0);
    }
  }

  put({ value, timeout, overfill }) {
    const deadline = timeout === undefined ? null : Date.now() + timeout * 1000;
    return this.store(value, deadline, overfill);
  }

  put_nowait({ value }) {
    return this.store(value, 0);
  }

  store(value, deadline, overfill) {
    return this.withRole("producer", deadline, async () => {
      if (await this.closed()) throw new Refusal("QueueClosedError");
      if (overfill) await this.ask("RPOP", ":not_full");
      else if (!(await this.pop([":not_full"], deadline))) throw new Refusal("QueueFullError");
      let length;
      try {
        length = await this.unlessDeleted("LPUSH", "", value);
      } catch (error) {
        if (error.refusal === "ServerReplyError") await this.ask("LPUSH", ":not_full", 0);
        throw error;
      }
      await this.refill(length);
      await this.count("produced", value);
    });
  }

  get({ timeout }) {
    return this.fetch(timeout === undefined ? null : Date.now() + timeout * 1000);
  }

  get_nowait() {
    return this.fetch(0);
  }

  fetch(deadline) {
    return this.withRole("consumer", deadline, async () => {
      const lists = (await this.closed()) ? [""] : ["", ":closed"];
      let found = await this.pop(lists, lists.length === 1 ? 0 : deadline);
      if (found?.[0] === ":closed") {
        await this.check();
        await this.ask("LPUSH", ":closed", 0);
        found = await this.pop([""], 0); // a value may have come at the same moment
        lists.pop();
      }
      if (found === null) throw new Refusal(lists.length === 1 ? "QueueClosedError" : "QueueEmptyError");
      await this.refill(await this.ask("LLEN", ""));
      await this.count("consumed", found[1]);
      return found[1];
    });
  }

  async refill(length) {
    const bound = Number(await this.ask("GET", ":bound"));
    if (bound && length >= bound) return;
    await this.ask("LPUSH", ":not_full", 0);
    await this.ask("LTRIM", ":not_full", 0, 0);
  }

  async count(done, value) {
    await this.ask("INCR", `:stats:${done}_messages`);
    await this.ask("INCRBY", `:stats:${done}_bytes`, value.length);
  }

  close() {
    return this.withRole("producer", null, async () => {
      if (await this.closed()) throw new Refusal("QueueClosedError");
      await this.unlessDeleted("LPUSH", ":closed", 0, 0);
    });
  }

  // Finishes a Delete that gave up, too: then other keys are left than the bound.
  async delete({ timeout }) {
    const all = ["", ...BESIDE].map((suffix) => this.key + suffix);
    if (!(await this.redis.ask("EXISTS", ...all))) throw new Refusal("QueueDoesNotExistError");
    const deadline = timeout === undefined ? null : Date.now() + timeout * 1000;
    await this.ask("DEL", ":bound");
    await this.ask("LPUSH", ":not_full", 0);
    await this.ask("LPUSH", ":closed", 0, 0);
    for (const role of Object.keys(ROLES)) {
      const removed = async () => !(await this.ask("EXISTS", `:${role}`)); // by a Delete that came so far
      if (!(await this.pop([ROLES[role]], deadline, removed)) && !(await removed())) throw await this.inUse(role);
      await this.redis.ask("DEL", `${this.key}:${role}`, this.key + ROLES[role]);
    }
    await this.redis.ask("DEL", ...all);
  }
}

const OPERATIONS = new Set(
  "create exists length closed put put_nowait get get_nowait close delete".split(" "),
);
let queue;

async function answer({ op, args }) {
  if (FAULT === "dies" && op === "put") {
    console.error("dying, as I was told to");
    process.exit(3);
  }
  if (FAULT === "hangs" && op === "put") await new Promise(() => setInterval(() => {}, 1000));
  if (op === "open") {
    queue = new Queue(args);
    return { result: null };
  }
  if (!OPERATIONS.has(op)) return { unsupported: true };
  try {
    if (FAULT === "refuses" && /^(put|get)/.test(op)) {
      throw new Refusal(op.startsWith("get") && (await queue.closed()) ? "QueueClosedError" : "QueueInUseError");
    }
    return { result: (await queue[op](args)) ?? null };
  } catch (error) {
    if (error.refusal === undefined) throw error;
    return { error: error.refusal, text: error.message };
  }
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const reply = FAULT === "babbles" ? "hello?" : JSON.stringify({ id: request.id, ...(await answer(request)) });
    process.stdout.write(`${reply}\n`);
  }
  process.exit(0);
}

main();
