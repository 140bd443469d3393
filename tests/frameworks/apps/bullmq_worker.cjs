// A worker of BullMQ: `node bullmq_worker.cjs QUEUE NUMBER` runs the jobs of a queue, a few at once.
"use strict";

const { Redis } = require("ioredis");
const { Worker } = require("bullmq");

const [, , queue, name] = process.argv;
const connection = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });
const effects = new Redis(process.env.REDIS_URL);

const jobs = {
  async square({ key, number }) {
    await effects.rpush(key, number);
    return number * number;
  },
  async fail() {
    throw new Error("as the test asked");
  },
  async comeAround({ key }) {
    const tries = await effects.incr(key);
    if (tries < 3) throw new Error(`try ${tries}`);
    return tries;
  },
  async clock({ key }) {
    await effects.rpush(key, Date.now() / 1000);
  },
  async total(data, job) {
    const values = Object.values(await job.getChildrenValues());
    return values.reduce((sum, value) => sum + value, 0);
  },
  async progress(data, job) {
    await job.updateProgress(50);
    await job.log("half of it");
    return "all of it";
  },
};

const worker = new Worker(queue, (job) => jobs[job.name](job.data, job), { connection, concurrency: 3, name });
worker.on("error", (error) => console.error(error));
worker.waitUntilReady().then(() => console.log("ready"));
process.on("SIGTERM", async () => {
  await worker.close();
  process.exit(0);
});
