import assert from "node:assert/strict";
import { test } from "node:test";
import { causeOfSilence } from "../../src/cli/doctor-silent.ts";
import type { GatewayAccess } from "../../src/cli/gateway-access.ts";
import type { ReadingLog } from "../../src/core/ports.ts";
import type { PolledKind, Sensor } from "../../src/core/sensor.ts";
import { keyOf, readingOf, START_MS } from "../support/temp-database.ts";

interface Asked {
  readonly sensor: Sensor;
  readonly kind: PolledKind;
  readonly day: string;
}

const sensorOf = (code: string, type: number, kinds: readonly PolledKind[]): Sensor => ({
  code,
  type,
  kinds,
  channels: {},
});
const SITE = { site: "s", sensors: [sensorOf("1", 3, ["accel"]), sensorOf("2", 40, ["rpm"])] };

/** What the doctor says of sensor 2 of a gateway that has records where this says so. */
function causeOf(has: (asked: Asked) => boolean): Promise<string> {
  const gateway = {
    readDay: (log: ReadingLog) => async (asked: Asked) => {
      if (has(asked)) await log.begin(keyOf("2")).add(readingOf("2", START_MS));
      return { ok: true, stored: 0, known: 0 };
    },
    gatewayNow: () => START_MS,
  } as unknown as GatewayAccess;
  const read = { sensor: sensorOf("2", 40, ["rpm"]), kind: "rpm", day: "2026-11-20" } as const;
  return causeOfSilence(gateway, SITE, read, new AbortController().signal);
}

test("doctor – a wrong type, kind, day and serial number of a silent sensor are told apart", async () => {
  assert.match(
    await causeOf(({ sensor }) => sensor.type === 3),
    /as type 3: correct "type", which is 40/,
  );
  assert.match(
    await causeOf(({ kind }) => kind === "accel"),
    /records of it as accel: correct "kinds"/,
  );
  assert.match(
    await causeOf(({ day }) => day === "2026-11-19"),
    /records of 2026-11-19: the sensor has stopped, or GATEWAY_TIMEZONE/,
  );
  // A type that no other sensor has is not found by trying those of the site file.
  assert.match(
    await causeOf(() => false),
    /no record under 2 .*: its serial number or its type is wrong/,
  );
});
