import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Refresh } from "../../src/dashboard/refresh.ts";

const EVERY_MS = 1000;

/** Answers when it is told to. */
function started(t: TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const asked: { readonly signal: AbortSignal; readonly answer: (text: string) => void }[] = [];
  const shown: string[] = [];
  const refresh = new Refresh(
    (signal) =>
      new Promise((resolve, reject) => {
        const answer = (text: string) =>
          text === "" ? reject(new Error("failed")) : resolve(() => shown.push(text));
        asked.push({ signal, answer });
      }),
    (error) => shown.push((error as Error).message),
    { ms: EVERY_MS, isDue: () => true },
  );
  const answer = async (request: number, text: string): Promise<void> => {
    asked[request]?.answer(text);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { refresh, asked, shown, answer, pass: () => t.mock.timers.tick(EVERY_MS) };
}

test("refresh – the interval waits for an answer, however long it takes, and goes on after a failure", async (t) => {
  const { asked, shown, answer, pass } = started(t);
  pass();
  pass();
  pass();
  assert.equal(asked.length, 1);
  await answer(0, "first");
  assert.equal(asked.length, 1);
  pass();
  await answer(1, "");
  pass();
  await answer(2, "third");
  assert.deepEqual(shown, ["first", "failed", "third"]);
});

test("refresh – what changes while an answer is under way is asked for once more, after it", async (t) => {
  const { refresh, asked, shown, answer } = started(t);
  refresh.change();
  refresh.change();
  refresh.change();
  assert.equal(asked.length, 1);
  await answer(0, "before");
  assert.equal(asked.length, 2);
  await answer(1, "after");
  assert.deepEqual([asked.length, shown], [2, ["before", "after"]]);
});

test("refresh – a choice goes out at once, and the answer for the former one is not shown", async (t) => {
  const { refresh, asked, shown, answer, pass } = started(t);
  refresh.change();
  refresh.choose();
  assert.deepEqual(
    asked.map(({ signal }) => signal.aborted),
    [true, false],
  );
  await answer(0, "");
  pass();
  assert.equal(asked.length, 2);
  await answer(1, "chosen");
  refresh.choose();
  refresh.choose();
  await answer(3, "last");
  await answer(2, "former");
  assert.deepEqual(shown, ["chosen", "last"]);
});

test("refresh – once stopped, it shows and asks nothing", async (t) => {
  const { refresh, asked, shown, answer, pass } = started(t);
  refresh.change();
  refresh.stop();
  await answer(0, "late");
  refresh.change();
  refresh.choose();
  pass();
  assert.deepEqual([asked.length, shown], [1, []]);
});
