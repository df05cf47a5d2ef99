import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { withinMs } from "../../src/lib/time-limit.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Ends with the signal; nothing else holds that. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });

test("time limit – work that never ends is ended, also if memory is collected meanwhile", async () => {
  const ended = withinMs(new AbortController().signal, 100, untilAborted);
  for (let n = 0; n < 3; n++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(((await ended) as DOMException).name, "TimeoutError");
});

test("time limit – the caller's signal ends the work with its own reason, also one that was aborted before", async () => {
  const stopping = new AbortController();
  const ended = withinMs(stopping.signal, 600_000, untilAborted);
  assert.equal(getEventListeners(stopping.signal, "abort").length, 1);
  stopping.abort("stopping");
  assert.equal(await ended, "stopping");
  const late = await withinMs(stopping.signal, 600_000, ({ aborted }) => Promise.resolve(aborted));
  assert.equal(late, true);
});

test("time limit – nothing remains of work that ended, well or not", async () => {
  const { signal } = new AbortController();
  const given: AbortSignal[] = [];
  const fails = withinMs(signal, 20, (own) => {
    given.push(own);
    return Promise.reject(new Error("no"));
  });
  await assert.rejects(fails, /no/);
  await new Promise((resolve) => setTimeout(resolve, 40));
  assert.deepEqual([getEventListeners(signal, "abort").length, given[0]?.aborted], [0, false]);
});
