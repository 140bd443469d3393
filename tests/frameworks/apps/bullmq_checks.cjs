// What programs on Node do with BullMQ: `node bullmq_checks.cjs NAME QUEUE KEY`, while workers of the queue run.
"use strict";

const assert = require("node:assert/strict");
const { FlowProducer, Queue, QueueEvents } = require("bullmq");
const { Redis } = require("ioredis");

const [, , name, queueName, key] = process.argv;
const url = process.env.REDIS_URL;
const client = new Redis(url);
const connection = () => new Redis(url, { maxRetriesPerRequest: null });
const queue = new Queue(queueName, { connection: connection() });
// From the first event on: what happens before it first asks would else be lost.
const events = new QueueEvents(queueName, { connection: connection(), lastEventId: "0-0" });
const finished = (job) => job.waitUntilFinished(events, 60_000);
const numbers = (count) => [...Array(count).keys()];

const checks = {
  async eachJobRunsOnce() {
    const jobs = await queue.addBulk(numbers(20).map((number) => ({ name: "square", data: { key, number } })));
    const results = await Promise.all(jobs.map(finished));
    assert.deepEqual(results, numbers(20).map((number) => number * number));
    const ran = await client.lrange(key, 0, -1);
    assert.deepEqual(ran.map(Number).sort((a, b) => a - b), numbers(20));
    assert.equal(await queue.getWaitingCount(), 0);
    for (const job of jobs) assert.equal(await job.getState(), "completed");
  },

  async failing() {
    const job = await queue.add("fail", {});
    await assert.rejects(finished(job), /as the test asked/);
    assert.equal(await job.getState(), "failed");
    const [failed] = await queue.getFailed();
    assert.match(failed.stacktrace[0], /as the test asked/);
    assert.equal(failed.failedReason, "as the test asked");
    await failed.remove();
    assert.equal(await queue.getJob(job.id), undefined);
  },

  async triedAgain() {
    const again = { attempts: 3, backoff: { type: "fixed", delay: 20 } };
    const job = await queue.add("comeAround", { key }, again);
    assert.equal(await finished(job), 3);
    assert.equal((await queue.getJob(job.id)).attemptsMade, 3);
  },

  async dueLater() {
    const before = Date.now() / 1000;
    const job = await queue.add("clock", { key }, { delay: 1000 });
    assert.equal(await job.getState(), "delayed");
    await finished(job);
    assert.ok(Number(await client.lpop(key)) >= before + 1);
  },

  async urgentFirst() {
    await queue.pause();
    const jobs = [];
    for (const [number, priority] of [30, 10, 20, 1, 10].entries())
      jobs.push(await queue.add("square", { key, number }, { priority }));
    assert.deepEqual((await queue.getPrioritized()).map((job) => job.data.number), [3, 1, 4, 2, 0]);
    assert.equal(await queue.isPaused(), true);
    await queue.resume();
    assert.deepEqual(await Promise.all(jobs.map(finished)), [0, 1, 4, 9, 16]);
  },

  async childrenFirst() {
    const flow = new FlowProducer({ connection: connection() });
    const children = numbers(4).map((number) => ({ name: "square", queueName, data: { key, number } }));
    const { job } = await flow.add({ name: "total", queueName, children });
    assert.equal(await finished(job), 14);
    await flow.close();
  },

  async everySoOften() {
    await queue.upsertJobScheduler(key, { every: 100, limit: 3 }, { name: "clock", data: { key } });
    for (const _ of numbers(3)) assert.ok(await client.blpop(key, 60));
    await queue.removeJobScheduler(key);
  },

  async progress() {
    const heard = new Promise((resolve) => events.on("progress", ({ data }) => resolve(data)));
    const job = await queue.add("progress", {});
    assert.equal(await heard, 50);
    assert.equal(await finished(job), "all of it");
    assert.deepEqual((await queue.getJobLogs(job.id)).logs, ["half of it"]);
  },

  async onlyOnce() {
    const jobs = await Promise.all(numbers(5).map(() => queue.add("square", { key, number: 2 }, { jobId: `${key}-once` })));
    assert.deepEqual([...new Set(await Promise.all(jobs.map(finished)))], [4]);
    assert.equal(await client.llen(key), 1);
  },

  async countsAndCleaning() {
    await finished(await queue.add("square", { key, number: 1 }));
    assert.ok((await queue.getJobCounts("completed")).completed >= 1);
    assert.ok((await queue.clean(0, 1000, "completed")).length >= 1);
    assert.equal((await queue.getWorkers()).length, 2);
  },
};

async function main() {
  await events.waitUntilReady();
  await checks[name]();
}

setTimeout(() => {
  console.error(`${name} takes too long`);
  process.exit(1);
}, 30_000).unref();

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
