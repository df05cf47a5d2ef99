import assert from "node:assert/strict";
import { test } from "node:test";
import { isWell } from "../../../src/cli/status.ts";
import { type LinkStatus, NOT_RECEIVED } from "../../../src/core/agent-status.ts";
import { currentFaults } from "../../../src/core/query/faults.ts";
import { boxFaults } from "../../../src/core/status/box-fault.ts";
import { agentStatus, SITE } from "../../support/http-parts.ts";

const codes = (change: Parameters<typeof agentStatus>[0]) =>
  currentFaults(agentStatus(change), SITE).map(({ code }) => code);

test("faults – none while everything works", () => {
  assert.deepEqual(codes({}), []);
});

test("faults – links that are down for the same reason are one fault, in the operator's terms", () => {
  const [link] = agentStatus().links;
  assert.ok(link);
  const down = { ...link, isConnected: false, lastError: "nothing answers", since: 9 };
  const both = [down, { ...down, name: "sparkplug" as const, since: 5 }];
  const [fault, ...rest] = currentFaults(agentStatus({ links: both }), SITE);
  assert.deepEqual(rest, []);
  assert.match(
    fault?.what ?? "",
    /^The MQTT and Sparkplug sessions with the broker are down: nothing/,
  );
  assert.equal(fault?.sinceMs, 5);
  const apart = both.map((one, i) => ({ ...one, lastError: `reason ${i}` }));
  assert.deepEqual(codes({ links: apart }), ["broker_down", "broker_down"]);
});

test("faults – each failing state is reported once, with what to do", () => {
  const { gateway, links, buffer, clock } = agentStatus();
  const silent = {
    code: "10234",
    state: "silent",
    lastReadingMs: 5,
    batteryV: 2,
    kinds: [],
  } as const;
  const failing = {
    ...silent,
    state: "online" as const,
    kinds: [
      {
        kind: "accel" as const,
        lastReadingMs: 1,
        cadenceS: 60,
        lastReadAtMs: 1,
        lastError: "HTTP 500",
      },
    ],
  };
  const down = {
    ...gateway,
    isUp: false,
    lastError: "refused",
    lastErrorClass: "not_json" as const,
  };
  const untried = { ...down, lastAnswerAtMs: null, lastError: null, lastErrorClass: null };
  const cases: [Parameters<typeof agentStatus>[0], string[]][] = [
    [{ gateway: untried }, []],
    [{ gateway: down }, ["gateway_down"]],
    [{ gateway: down, sensors: [failing] }, ["gateway_down"]],
    [{ links: links.map((link) => ({ ...link, isConnected: false })) }, ["broker_down"]],
    [{ links: links.map((link) => ({ ...link, hostOnline: false })) }, ["host_offline"]],
    [
      {
        buffer: { ...buffer, alarm: "the disk is full, nothing can be stored", isWritable: false },
      },
      ["buffer_alarm"],
    ],
    [{ buffer: { ...buffer, isWritable: false } }, ["buffer_read_only"]],
    [{ buffer: { ...buffer, alarm: "the buffer is full: reading pauses" } }, ["buffer_alarm"]],
    [{ buffer: { ...buffer, hoursUntilFull: 3 } }, ["buffer_nearly_full"]],
    [{ buffer: { ...buffer, dropped: { space: 4, none: 0 } } }, ["readings_dropped"]],
    [
      { alarmFailures: [{ engine: "bands", lastError: "disk I/O error", sinceMs: 5 }] },
      ["alarms_failing"],
    ],
    [{ clock: { ...clock, isPlausible: false } }, ["clock_implausible"]],
    [{ clock: { ...clock, skewMs: -600_000 } }, ["clock_skew"]],
    [{ sensors: [silent] }, ["sensor_silent"]],
    [{ sensors: [failing] }, ["read_failing"]],
    [{ sensors: [{ ...failing, state: "silent" }] }, ["read_failing"]],
  ];
  for (const [change, expected] of cases) {
    const faults = currentFaults(agentStatus(change), SITE);
    assert.deepEqual(
      faults.map(({ code }) => code),
      expected,
    );
    for (const { what, remedy } of faults) assert.ok(what.length > 20 && remedy.length > 20);
  }
  const limited = {
    ...SITE,
    sensors: SITE.sensors.map((sensor) => ({ ...sensor, batteryLowV: 3 })),
  };
  assert.deepEqual(
    currentFaults(agentStatus({ sensors: [failing] }), limited).map(({ code }) => code),
    ["battery_low", "read_failing"],
  );
});

test("faults – an outage of the gateway is reported once, not as silence of every sensor that became due", () => {
  const { gateway } = agentStatus();
  const lastAnswerAtMs = 1_800_000_000_000;
  const down = { ...gateway, isUp: false, lastAnswerAtMs, skewMs: 60_000 };
  // By the gateway's clock its last answer came a minute later than ours says.
  const silentSince = (ageMs: number, cadenceS: number | null) => {
    const lastReadingMs = lastAnswerAtMs + 60_000 - ageMs;
    const reads = { lastReadingMs, cadenceS, lastReadAtMs: null, lastError: null };
    const kinds = [{ kind: "rpm", ...reads }] as const;
    return { code: "10234", state: "silent", lastReadingMs, batteryV: null, kinds } as const;
  };
  for (const [ageMs, cadenceS, isReported] of [
    [29_000, 10, false],
    [31_000, 10, true],
    [1_700_000, null, false],
    [1_900_000, null, true],
  ] as const) {
    const sensors = [silentSince(ageMs, cadenceS)];
    assert.equal(codes({ gateway: down, sensors }).includes("sensor_silent"), isReported);
    assert.deepEqual(codes({ sensors }), ["sensor_silent"]);
  }
});

test("faults – a session that lives is one where the broker refuses publishes, or another agent is there; people are told", () => {
  const [link] = agentStatus().links;
  assert.ok(link);
  const refused = { topics: 3, examples: [], text: "the broker refuses 3 topics" };
  for (const [change, code] of [
    [{ refused }, "publishes_refused"],
    [{ otherAgent: "another agent is there" }, "other_agent"],
  ] as const) {
    const links: LinkStatus[] = [{ ...link, ...change }];
    assert.deepEqual(codes({ links }), [code]);
    const [fault, ...rest] = boxFaults(agentStatus({ links }));
    assert.deepEqual([fault?.value, fault?.uplink, rest], ["uplink", "main", []]);
    assert.match(fault?.text ?? "", /the broker refuses 3 topics|another agent is there/);
  }
  assert.deepEqual(boxFaults(agentStatus()), []);
});

test("faults – a message that no session takes is no right that is missing", () => {
  const [link] = agentStatus().links;
  assert.ok(link);
  const examples = [{ topic: "g/p/agent/cmd/site", reason: NOT_RECEIVED }];
  const refused = { topics: 1, examples, text: "mqtt://b has a message of 2000018 bytes" };
  const [fault] = currentFaults(agentStatus({ links: [{ ...link, refused }] }), SITE);
  assert.match(fault?.what ?? "", /does not receive everything: mqtt:\/\/b has a message/);
  assert.match(fault?.remedy ?? "", /^Clear the retained message/);
});

test("faults – a certificate is one from 14 days on, and people are told once for each uplink", () => {
  const certificate = (uplink: string, state: "valid" | "ending" | "ended") => ({
    uplink,
    file: "broker",
    setting: null,
    subject: "broker",
    fingerprint: "00",
    fromMs: 0,
    untilMs: Date.UTC(2026, 11, 31),
    daysLeft: 9,
    state,
    isRenewedByRestart: false,
  });
  const certificates = [
    certificate("main", "valid"),
    certificate("cloud", "ending"),
    { ...certificate("cloud", "ended"), file: "box.pem", setting: "certFile" },
    { ...certificate("", "ending"), file: "http.pem", setting: "HTTP_CERT_FILE" },
  ];
  assert.deepEqual(codes({ certificates }), [
    "certificate_ending",
    "certificate_ended",
    "certificate_ending",
  ]);
  assert.deepEqual(boxFaults(agentStatus({ certificates })), [
    {
      value: "certificate",
      uplink: "cloud",
      severity: "alarm",
      text: "A certificate must be renewed: the broker's certificate of the uplink cloud ends in 9 days, on 2026-12-31; box.pem (certFile of the uplink cloud) ended on 2026-12-31.",
    },
    {
      value: "certificate",
      severity: "warning",
      text: "A certificate must be renewed: http.pem (HTTP_CERT_FILE) ends in 9 days, on 2026-12-31.",
    },
  ]);
});

test("status – what the box serves counts: pages, the Modbus server and messages that do not work are faults", () => {
  const http = { address: null, lastError: "HTTP_PORT: 8080 is in use" };
  assert.deepEqual(
    boxFaults(agentStatus({ http })).map(({ value, severity }) => [value, severity]),
    [["http", "warning"]],
  );
  assert.equal(isWell(agentStatus()), true);
  assert.equal(isWell(agentStatus({ http })), false);
  const modbus = { address: null, clients: 0, lastError: "EADDRINUSE" };
  assert.equal(isWell({ ...agentStatus(), modbus } as ReturnType<typeof agentStatus>), false);
  const notifications = [{ name: "e-mail", lastError: "refused", lastSentAtMs: null, waiting: 1 }];
  assert.equal(isWell({ ...agentStatus(), notifications } as never), false);
});
