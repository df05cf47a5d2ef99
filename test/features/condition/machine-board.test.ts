import assert from "node:assert/strict";
import { test } from "node:test";
import type { Site } from "../../../src/core/site.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { MachineBoard } from "../../../src/features/condition/machine-board.ts";
import { createMachineMessages } from "../../../src/features/condition/machine-messages.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { FakeLink, turnsOver } from "../../support/fake-link.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { NOW, openMachines, UPLINK, vibration } from "./machine-plant.ts";

const SITE: Site = { site: "plant-7", sensors: [vibration(40), vibration(41)] };

function open(memory: { text: string | null }) {
  const site = fixedSite(SITE);
  const link = new FakeLink();
  const board = new MachineBoard(
    {
      link,
      turns: turnsOver(link),
      site,
      conditions: { current: [], onLook: () => () => {}, want: () => {} },
      clock: new ManualClock(),
      logger: silentLogger,
      times: { take: () => new Map() },
      messages: createMachineMessages(
        UPLINK,
        { topics: createTopics("gateside", "plant-7"), site, version: "0" },
        // Where nothing describes machines, nothing is recorded.
        (_, own) => ({
          ...own,
          describe: ({ id }) => [{ topic: `described/${id}`, payload: "{}", qos: 1, retain: true }],
          retained: (machine) => [...own.retained(machine), `described/${machine.id}`],
        }),
      ),
      memory: {
        load: () => memory.text,
        save: (text) => {
          memory.text = text;
        },
      },
    },
    {
      othersMs: null,
      isOn: true,
      isCompact: false,
      isRetained: true,
      isSelected: () => true,
      hasFixedTopics: false,
    },
  );
  return { board, link };
}

test("machine board – whatever one damaged byte makes of what was recorded, machines are described", async () => {
  const first = { text: null as string | null };
  const { board, link } = open(first);
  await board.sync();
  const described = link.messages.length;
  const recorded = Buffer.from(first.text ?? "");
  assert.ok(described > 0 && recorded.length > 50);
  for (let at = 0; at < recorded.length; at += 1) {
    const damaged = Buffer.from(recorded);
    damaged[at] = (damaged[at] ?? 0) ^ 32;
    const again = open({ text: damaged.toString() });
    await again.board.sync();
    assert.ok(again.link.messages.length >= described, damaged.toString());
  }
});

test("machine board – a machine that is removed and comes back before the next look is told again", async (t) => {
  const { board, conditions, newestOf, read, site } = await openMachines(t, [40, 41]);
  await board.sync();
  await read("41", NOW, 2, "B");
  await conditions.look();
  await board.look();
  assert.notEqual(newestOf(41) ?? "", "");
  const whole = site.current;
  site.replace({ ...whole, sensors: whole.sensors.filter(({ code }) => code !== "41") });
  await board.sync();
  assert.equal(newestOf(41), "");
  site.replace(whole);
  await board.sync();
  await board.look();
  assert.notEqual(newestOf(41), "");
});
