import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboxEntry } from "../../../src/core/delivery/delivery.ts";
import type { SessionLink } from "../../../src/core/delivery/link.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { Devices } from "../../../src/features/sparkplug/devices.ts";
import { NodeConnection, Sender } from "../../../src/features/sparkplug/sender.ts";
import { NodeSession } from "../../../src/features/sparkplug/session.ts";
import { NodeTopics } from "../../../src/features/sparkplug/topics.ts";
import { FakeLink } from "../../support/fake-link.ts";
import { storedReading } from "../../support/memory-outbox.ts";
import { MOTOR, WAVE } from "./site.ts";

const measured = (fileId: number): OutboxEntry => ({
  reading: storedReading(fileId, {
    sensor: MOTOR.code,
    kind: "accel",
    values: "{}",
    waveforms: [{ fileId, channel: 1, axis: "H" }],
  }),
  live: false,
});

/** A sender whose broker accepts no DBIRTH; `tells` is what it says of entries, in order. */
function refusingBirths() {
  const link = new FakeLink();
  link.outcome = ({ topic }) =>
    topic.includes("/DBIRTH/")
      ? { result: "oversize", bytes: 2000, limitBytes: 1000 }
      : { result: "delivered" };
  const tells: unknown[] = [];
  const session = new NodeSession(new NodeTopics("plant", "edge"), 0);
  const sender = new Sender({
    session,
    connection: new NodeConnection(link as unknown as SessionLink),
    devices: new Devices(
      { newest: () => null, sensors: () => [] },
      { site: fixedSite({ site: "s", sensors: [MOTOR] }), hasWaveforms: true, hasCommands: false },
    ),
    waveforms: { read: (fileId) => (fileId === 1 ? WAVE : null) },
    now: () => 5000,
    isHeld: () => false,
    onSent: (lane, entries) => tells.push(["sent", lane, entries]),
    onDamaged: () => assert.fail("nothing is damaged"),
    onOversize: (what, lane, entries) => tells.push([what, lane, entries]),
  });
  session.nbirth(0, []).spend();
  return { sender, link, tells };
}

test("sparkplug – a waveform of a device whose birth exceeds the broker's limit is oversize, and none of it is sent", async () => {
  const { sender, link, tells } = refusingBirths();
  const what = `DBIRTH of ${MOTOR.code}`;
  const one = measured(1);
  assert.equal(await sender.waveforms(one, true), "oversize");
  assert.deepEqual(tells.splice(0), [
    [what, "sparkplug", []],
    [what, "sparkplugWaveform", [one]],
  ]);
  assert.equal(await sender.waveforms(one, true), "oversize");
  assert.deepEqual(tells, [[what, "sparkplugWaveform", [one]]]);
  assert.deepEqual(link.topics, [`spBv1.0/plant/DBIRTH/edge/${MOTOR.code}`], "it is tried once");
});

test("sparkplug – a waveform that is deleted meanwhile leaves the lane without a birth", async () => {
  const { sender, link, tells } = refusingBirths();
  const gone = measured(2);
  assert.equal(await sender.waveforms(gone, true), "sent");
  assert.deepEqual(tells, [["sent", "sparkplugWaveform", [gone]]]);
  assert.deepEqual(link.topics, []);
});
