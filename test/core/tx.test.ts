import assert from "node:assert/strict";
import { test } from "node:test";
import { TxMap, UnitOfWork } from "../../src/core/tx.ts";

test("tx – a commit runs what was registered for it, in this order, and takes nothing back", () => {
  const tx = new UnitOfWork();
  const seen: string[] = [];
  tx.onRollback(() => seen.push("taken back"));
  tx.onCommit(() => seen.push("first"));
  tx.onCommit(() => seen.push("second"));
  assert.deepEqual(seen, []);
  tx.committed();
  assert.deepEqual(seen, ["first", "second"]);
});

test("tx – a rollback takes back the last change first, and runs nothing that was meant for the commit", () => {
  const tx = new UnitOfWork();
  const values = ["stored"];
  for (const value of ["one", "two"]) {
    values.push(value);
    tx.onRollback(() => assert.equal(values.pop(), value));
  }
  tx.onCommit(() => assert.fail("is not on disk"));
  tx.rolledBack();
  assert.deepEqual(values, ["stored"]);
});

test("tx – a draft is made once for each owner, whatever it is, and ends with its transaction", () => {
  const one = {};
  const other = {};
  const tx = new UnitOfWork();
  tx.draft(one, () => [1]).push(2);
  assert.deepEqual(
    tx.draft(one, () => [9]),
    [1, 2],
  );
  assert.deepEqual(
    tx.draft(other, () => [3]),
    [3],
  );
  let made = 0;
  const nothing = () => {
    made += 1;
    return undefined;
  };
  tx.draft(nothing, nothing);
  tx.draft(nothing, nothing);
  assert.equal(made, 1);
  assert.deepEqual(
    new UnitOfWork().draft(one, () => [4]),
    [4],
  );
});

test("tx – nothing can be added to a transaction that is over, and it ends once", () => {
  for (const end of ["committed", "rolledBack"] as const) {
    const tx = new UnitOfWork();
    tx[end]();
    const late = [
      () => tx.onCommit(() => {}),
      () => tx.onRollback(() => {}),
      () => tx.draft(tx, () => 1),
      () => tx.committed(),
      () => tx.rolledBack(),
    ];
    for (const act of late) assert.throws(act, /over/);
  }
});

test("tx – what runs at the commit cannot put anything off to a later one", () => {
  const tx = new UnitOfWork();
  tx.onCommit(() => tx.onCommit(() => assert.fail("too late")));
  assert.throws(() => tx.committed(), /over/);
});

test("tx – changes of a map hold at once; a rollback takes them back, but not what was set since outside of it", () => {
  const map = new TxMap<string, number | null>([
    ["kept", 1],
    ["removed", 2],
    ["set since", 3],
  ]);
  const tx = new UnitOfWork();
  map.change(tx, "kept", 10);
  map.change(tx, "kept", null);
  map.change(tx, "removed", undefined);
  map.change(tx, "added", 20);
  map.change(tx, "set since", 30);
  assert.deepEqual(
    [...map],
    [
      ["kept", null],
      ["set since", 30],
      ["added", 20],
    ],
  );
  map.set("set since", 4);
  tx.rolledBack();
  assert.deepEqual([...map].toSorted(), [
    ["kept", 1],
    ["removed", 2],
    ["set since", 4],
  ]);
  const next = new UnitOfWork();
  map.change(next, "kept", 5);
  next.committed();
  assert.equal(map.get("kept"), 5);
});
