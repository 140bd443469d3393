// What programs on Node do with ioredis: `node ioredis_checks.cjs NAME KEY` makes one check on the server in REDIS_URL.
"use strict";

const assert = require("node:assert/strict");
const { once } = require("node:events");
const { Redis } = require("ioredis");

const opened = [];

function connect(options = {}) {
  const client = new Redis(process.env.REDIS_URL, { protocol: Number(process.env.PROTOCOL), ...options });
  opened.push(client);
  return client;
}

async function untilBlocked(client) {
  while (!/blocked_clients:[1-9]/.test(await client.info("clients")));
}

const checks = {
  async pipeline(key) {
    const client = connect();
    const replies = await client.pipeline().set(key, "1").incr(key).lpush(key, "wrong").get(key).exec();
    assert.deepEqual([replies[0], replies[1], replies[3]], [[null, "OK"], [null, 2], [null, "2"]]);
    assert.match(replies[2][0].message, /WRONGTYPE/);
    const many = client.pipeline();
    for (let number = 0; number < 1000; number++) many.rpush(`${key}:list`, number);
    await many.exec();
    const numbers = await client.lrange(`${key}:list`, 0, -1);
    assert.deepEqual(numbers.map(Number), [...Array(1000).keys()]);
  },

  async transaction(key) {
    const [client, other] = [connect(), connect()];
    assert.deepEqual(await client.multi().rpush(key, "a", "b").lpop(key).exec(), [[null, 2], [null, "a"]]);
    await client.watch(key);
    await other.rpush(key, "c");
    assert.equal(await client.multi().del(key).exec(), null);
    await assert.rejects(client.multi().set(key).exec(), /EXECABORT|wrong number of arguments/);
  },

  async blocking(key) {
    const [client, other] = [connect(), connect()];
    const popped = client.blpop(key, `${key}:2`, 60);
    const moved = other.blmove(`${key}:from`, `${key}:to`, "LEFT", "RIGHT", 60);
    const third = connect();
    await untilBlocked(third);
    await third.rpush(`${key}:2`, "it");
    await third.rpush(`${key}:from`, "that");
    assert.deepEqual([await popped, await moved], [[`${key}:2`, "it"], "that"]);
    assert.equal(await client.blpop(key, 0.01), null);
    assert.deepEqual(await third.lrange(`${key}:to`, 0, -1), ["that"]);
  },

  async subscribing(key) {
    const [listener, client] = [connect(), connect()];
    const heard = [];
    listener.on("message", (channel, message) => heard.push([channel, message]));
    listener.on("pmessage", (pattern, channel, message) => heard.push([pattern, channel, message]));
    assert.equal(await listener.subscribe(key, `${key}:b`), 2);
    assert.equal(await listener.psubscribe(`${key}:*`), 3);
    assert.equal(await client.publish(key, "one"), 1);
    const last = once(listener, "pmessage");
    assert.equal(await client.publish(`${key}:b`, "two"), 2);
    await last;
    assert.deepEqual(heard, [[key, "one"], [`${key}:b`, "two"], [`${key}:*`, `${key}:b`, "two"]]);
    assert.equal(await listener.unsubscribe(key, `${key}:b`), 1);
    assert.equal(await listener.punsubscribe(`${key}:*`), 0);
    assert.equal(await listener.ping(), "PONG");
  },

  async scripts(key) {
    const client = connect();
    await client.script("FLUSH");
    client.defineCommand("moveAll", {
      numberOfKeys: 2,
      lua: `local moved = 0
        while redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') do moved = moved + 1 end
        return {moved, ARGV[1], redis.call('LRANGE', KEYS[2], 0, -1)}`,
    });
    await client.rpush(key, 1, 2, 3);
    assert.deepEqual(await client.moveAll(key, `${key}:2`, "arg"), [3, "arg", ["1", "2", "3"]]);
    const replies = await client.pipeline().rpush(key, 4).moveAll(key, `${key}:2`, "x").exec();
    assert.deepEqual(replies[1], [null, [1, "x", ["1", "2", "3", "4"]]]);
    await client.script("FLUSH");
    const inTransaction = await client.multi().moveAll(key, `${key}:2`, "y").exec().catch(() => "no script");
    assert.ok(inTransaction);
    await assert.rejects(client.eval("return redis.error_reply('MINE is wrong')", 0), /^ReplyError: MINE is wrong/);
  },

  async autopipelining(key) {
    const client = connect({ enableAutoPipelining: true });
    const sums = await Promise.all([...Array(200)].map(() => client.incr(key)));
    assert.deepEqual(sums, [...Array(200)].map((_, index) => index + 1));
    assert.deepEqual(await Promise.all([client.get(key), client.mget(key, `${key}:none`)]), ["200", ["200", null]]);
  },

  async others(key) {
    const client = connect();
    await client.hset(key, { a: 1, b: "two" });
    assert.deepEqual({ ...(await client.hgetall(key)) }, { a: "1", b: "two" });
    await client.zadd(`${key}:z`, 1.5, "x", 2, "y");
    assert.deepEqual(await client.zrange(`${key}:z`, 0, -1, "WITHSCORES"), ["x", "1.5", "y", "2"]);
    await client.xgroup("CREATE", `${key}:s`, "group", "$", "MKSTREAM");
    const id = await client.xadd(`${key}:s`, "*", "field", "value");
    const read = await client.xreadgroup("GROUP", "group", "me", "COUNT", 1, "STREAMS", `${key}:s`, ">");
    assert.deepEqual(read, [[`${key}:s`, [[id, ["field", "value"]]]]]);
    assert.equal(await client.xack(`${key}:s`, "group", id), 1);
    const found = [];
    for await (const keys of client.scanStream({ match: `${key}*` })) found.push(...keys);
    assert.deepEqual([...new Set(found)].sort(), [key, `${key}:s`, `${key}:z`]);
    assert.deepEqual(await client.getBuffer(key).catch((error) => error.message.split(" ")[0]), "WRONGTYPE");
  },

  async monitoring(key) {
    const [client, monitor] = [connect(), await connect().monitor()];
    opened.push(monitor);
    const seen = new Promise((resolve) => monitor.on("monitor", (_, words) => words[1] === key && resolve(words)));
    await client.set(key, "seen");
    assert.deepEqual(await seen, ["set", key, "seen"]);
  },

  async reconnecting(key) {
    const [client, other] = [connect({ autoResubscribe: true }), connect()];
    await client.subscribe(key);
    const again = once(client, "ready");
    assert.ok((await other.client("KILL", "TYPE", "pubsub")) >= 1);
    await again;
    const heard = once(client, "message");
    while ((await other.publish(key, "again")) === 0);
    assert.deepEqual(await heard, [key, "again"]);
  },
};

const [, , name, key] = process.argv;
setTimeout(() => {
  console.error(`${name} takes too long`);
  process.exit(1);
}, 30_000).unref();
checks[name](key).then(
  () => opened.forEach((client) => client.disconnect()),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
