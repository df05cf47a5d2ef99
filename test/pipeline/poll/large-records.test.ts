import assert from "node:assert/strict";
import { test } from "node:test";
import { LargeRecords } from "../../../src/pipeline/poll/large-records.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("large records – one at a time, in order of arrival", async () => {
  const large = new LargeRecords();
  const order: string[] = [];
  const who = { first: {}, second: {}, third: {} };
  await large.take(who.first);
  await large.take(who.first);
  const second = large.take(who.second).then(() => order.push("second"));
  const third = large.take(who.third).then(() => order.push("third"));
  await turn();
  assert.deepEqual(order, []);
  large.leave(who.third);
  await turn();
  assert.deepEqual(order, [], "who does not hold the place cannot give it up");
  large.leave(who.first);
  await second;
  assert.deepEqual(order, ["second"]);
  large.leave(who.second);
  await third;
  assert.deepEqual(order, ["second", "third"]);
  large.leave(who.third);
  await large.take(who.first);
});
