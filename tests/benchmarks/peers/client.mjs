// SPDX-License-Identifier: BSL-1.0
// A client, as serve.hpp describes it, of a lock that npm has: node client.mjs KIND ADDRESS NAME TTL_MS
import { createInterface } from "node:readline";

const [kind, address, name, ttl] = process.argv.slice(2);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const now = () => process.hrtime.bigint();

// Each is the way that the package's documentation shows, with the package's defaults.
const locks = {
  async redlock() {
    const { default: Redlock } = await import("redlock");
    const { Redis } = await import("ioredis");
    const redlock = new Redlock([new Redis(Number(address), "127.0.0.1")], { retryCount: -1 });
    let lock;
    return { acquire: async () => void (lock = await redlock.lock(name, Number(ttl))), release: () => lock.unlock() };
  },
  async "node-redisson"() {
    const { Redisson } = (await import("node-redisson")).default;
    const redis = { options: { host: "127.0.0.1", port: Number(address) } };
    const lock = new Redisson({ redis, lockWatchdogTimeout: BigInt(ttl) }).getLock(name);
    return { acquire: () => lock.lock(), release: () => lock.unlock() };
  },
  // It does not wait.
  async etcd3() {
    const { Etcd3, EtcdLockFailedError } = await import("etcd3");
    const client = new Etcd3({ hosts: address });
    let lock;
    const acquired = async () => {
      lock = client.lock(name).ttl(Number(ttl) / 1000);
      try {
        await lock.acquire();
        return true;
      } catch (error) {
        if (error instanceof EtcdLockFailedError) return false;
        throw error;
      }
    };
    const acquire = async () => {
      while (!(await acquired())) await pause(50);
    };
    return { acquire, release: () => lock.release() };
  },
};

const lock = await locks[kind]();

const answers = {
  async acquire() {
    await lock.acquire();
    return now();
  },
  async release() {
    const began = now();
    await lock.release();
    return began;
  },
  async pairs(times) {
    const took = [];
    for (let i = 0; i < times; ++i) {
      const began = now();
      await lock.acquire();
      await lock.release();
      took.push(now() - began);
    }
    return took.join(" ");
  },
  async contend(milliseconds) {
    const end = now() + BigInt(milliseconds) * 1_000_000n;
    let times = 0;
    let longest = 0n;
    for (let asked = now(); asked < end; asked = now()) {
      await lock.acquire();
      const got = now();
      if (got < end) ++times;
      if (got - asked > longest) longest = got - asked;
      await pause(1);
      await lock.release();
    }
    return `${times} ${longest}`;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [word, number] = line.split(" ");
  console.log(String(await answers[word](Number(number))));
}
process.exit(0);
