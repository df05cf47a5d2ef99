import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestTurns } from "../../../src/features/query-service/request-turns.ts";

test("turns – two run, one waits, the next is refused; a finished one passes its place on", async () => {
  const turns = new RequestTurns(2, 1);
  const first = await turns.take();
  const second = await turns.take();
  let isThirdIn = false;
  const third = turns.take().then((end) => {
    isThirdIn = true;
    return end;
  });
  assert.equal(await turns.take(), null);
  assert.equal(isThirdIn, false);
  first?.();
  const end = await third;
  assert.equal(isThirdIn, true);
  const waiting = turns.take();
  assert.equal(await turns.take(), null);
  second?.();
  end?.();
  (await waiting)?.();
  for (let n = 0; n < 5; n++) (await turns.take())?.();
});
