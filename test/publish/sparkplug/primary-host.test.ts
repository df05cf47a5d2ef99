import assert from "node:assert/strict";
import { test } from "node:test";
import { PrimaryHost } from "../../../src/publish/sparkplug/primary-host.ts";

const state = (online: unknown, timestamp: unknown) =>
  Buffer.from(JSON.stringify({ online, timestamp }));

test("sparkplug – a malformed STATE changes nothing", () => {
  const host = new PrimaryHost("scada");
  host.apply("scada", state(true, 5));
  for (const bad of [
    Buffer.from("ONLINE"),
    Buffer.from(""),
    Buffer.from([0xff, 0xfe]),
    Buffer.from("null"),
    Buffer.from("[]"),
    Buffer.from('{"online":false}'),
    state("false", 9),
    state(false, "9"),
    state(false, null),
  ]) {
    assert.equal(host.apply("scada", bad), "ignored", bad.toString());
  }
  assert.equal(host.isOnline, true);
});

test("sparkplug – another host's STATE does not count", () => {
  const host = new PrimaryHost("scada");
  assert.equal(host.apply("other", state(true, 5)), "ignored");
  assert.equal(host.isOnline, false);
});

test("sparkplug – an older STATE does not count, an equally old one does, the first always does", () => {
  const host = new PrimaryHost("scada");
  assert.equal(host.apply("scada", state(true, 10)), "online");
  assert.equal(host.apply("scada", state(false, 9)), "ignored");
  assert.equal(host.isOnline, true);
  assert.equal(host.apply("scada", state(false, 10)), "offline");
  assert.equal(host.apply("scada", state(true, 9)), "ignored");
  assert.equal(host.isOnline, false);
  assert.equal(host.apply("scada", state(true, 10)), "online");
});

test("sparkplug – a new session waits to be told again, and remembers how old the news may be", () => {
  const host = new PrimaryHost("scada");
  host.apply("scada", state(true, 10));
  host.forget();
  assert.equal(host.isOnline, false);
  assert.equal(host.apply("scada", state(true, 9)), "ignored");
  assert.equal(host.apply("scada", state(true, 10)), "online");
});
