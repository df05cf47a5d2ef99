import { readingPayload } from "./collecting.ts";

/** A message that no box sends; what becomes of it is a reason in `rejected`, or null if it is not kept there. */
export interface Malformed {
  /** Below the prefix. */
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly reason: string | null;
}

const SITE = "plant-7";
const NOW = new Date(Date.now() - 60_000).toISOString();
const LONG = "x".repeat(513);
/** 512 characters that fit into no index. */
const WIDE = Array.from({ length: 512 }, (_, n) => String.fromCodePoint(0x4e00 + n * 7)).join("");
const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const EVENT = {
  v: 1,
  id: "b".repeat(32),
  site: SITE,
  sensor: "100",
  kind: "rpm",
  value: "rpm",
  alarm: "high",
  severity: "warning",
  state: "active",
  time: NOW,
  limit: 9,
  text: "too fast",
};
const GAP = {
  v: 1,
  site: SITE,
  sensor: "100",
  kind: "rpm",
  from: NOW,
  to: NOW,
  count: 3,
  reason: "buffer_full",
};
const WAVEFORM = {
  v: 1,
  id: "c".repeat(32),
  site: SITE,
  sensor: "100",
  time: NOW,
  channel: "channel1",
  axis: "H",
  unit: "G",
  sampleRate: 6400,
  samples: 2,
  base64: Buffer.alloc(8).toString("base64"),
};
const STATE = { site: SITE, state: "online", time: NOW, version: "0.3.0" };
const STATS = { v: 1, site: SITE, time: NOW, version: "0.3.0", buffer: {} };
const SENSOR = { site: SITE, sensor: "100", state: "online", lastReading: NOW, battery: 3.6 };
const ABOUT = { v: 1, site: SITE, sensor: "100", name: "Shaft", kinds: ["rpm"], channels: {} };

const bad = "wrong_member";
const READING_AT = "100/rpm/history";
const reading = (members: Record<string, unknown>, reason = "wrong_member") =>
  at(READING_AT, JSON.parse(readingPayload(9_000_000, { time: NOW, ...members })), {}, reason);
/** The raw text of a reading, one member replaced by this JSON text. */
const readingText = (name: string, json: string, reason: string | null) => ({
  topic: `${SITE}/${READING_AT}`,
  payload: readingPayload(9_000_000, { time: NOW, [name]: "@" }).replace('"@"', json),
  reason,
});

function at(rest: string, body: object, members: object, reason: string | null): Malformed {
  return {
    topic: `${SITE}/${rest}`,
    payload: JSON.stringify({ ...body, ...members }),
    reason,
  };
}

function text(rest: string, payload: string | Buffer, reason: string | null): Malformed {
  return { topic: `${SITE}/${rest}`, payload, reason };
}

export const MALFORMED: readonly Malformed[] = [
  // No JSON, or no object.
  text(READING_AT, "{", "not_json"),
  text(READING_AT, "{}}", "not_json"),
  text(READING_AT, "nonsense", "not_json"),
  text(READING_AT, "null", "not_json"),
  text(READING_AT, "[1]", "not_an_object"),
  text(READING_AT, "12", "not_an_object"),
  text(READING_AT, '"text"', "not_an_object"),
  text(READING_AT, Buffer.from([0, 1, 2, 255]), "not_json"),
  text(READING_AT, Buffer.from('{"v":1,"site":"\xff\xfe"}', "latin1"), "not_json"),
  text(READING_AT, Buffer.alloc(5 << 20, 32), "too_large"),
  // Parsed, it would take 100 MB.
  readingText("attributes", `{"a":[${"{},".repeat(1_300_000)}1]}`, "too_large"),
  readingText("raw", `[${"1e308,".repeat(600_000)}1]`, "too_large"),
  text("agent/state", "online", "not_json"),
  text("agent/event", "true", "not_an_object"),
  // Depth, wherever it is.
  text(READING_AT, deep(5000), "too_deep"),
  text(READING_AT, deepObject(200_000), "too_deep"),
  text(READING_AT, "[".repeat(1_000_000), "too_deep"),
  ...["attributes", "units", "quality", "values", "raw", "location", "v", "site", "channels"].map(
    (name) => readingText(name, deepObject(5000), "too_deep"),
  ),
  text("agent/state", `{"state":"online","x":${deep(5000)}}`, "too_deep"),
  text("agent/stats", `{"time":"${NOW}","buffer":${deepObject(5000)}}`, "too_deep"),
  text("100/about", `{"v":1,"channels":${deepObject(5000)}}`, "too_deep"),
  text("100/state", `{"state":"online","x":${deep(33)}}`, "too_deep"),
  text("agent/event", `{"worst":${deepObject(40)}}`, "too_deep"),
  text("agent/gap", `{"v":${deep(5000)}}`, "too_deep"),
  // Versions and sites.
  reading({ v: 2 }, "unsupported_version"),
  reading({ v: "1" }, "unsupported_version"),
  reading({ v: { a: { b: 1 } } }, "unsupported_version"),
  reading({ v: null }, "unsupported_version"),
  reading({ site: "plant-8" }, "site_mismatch"),
  reading({ site: "plant" }, "site_mismatch"),
  reading({ site: 7 }),
  reading({ site: LONG }),
  reading({ site: ["plant-7"] }),
  reading({ site: null }, "unknown_message"),
  // Members of readings.
  ...[7, "", null, [], {}, LONG, WIDE, "a\0b", "\ud800"].map((sensor) => reading({ sensor })),
  ...[7, "", null, true, LONG, WIDE, "\0"].map((kind) => reading({ kind })),
  ...[7, "", null, {}, LONG, "\0"].map((id) => reading({ id })),
  ...[
    7,
    null,
    "",
    "2026-11-20T15:04:05",
    "2026-13-45T10:00:00Z",
    "2026-02-30T10:00:00Z",
    "now",
    {},
  ].map((time) => reading({ time })),
  reading({ time: "1999-01-01T00:00:00Z" }, "time_out_of_range"),
  reading({ time: "9999-12-31T23:59:59-12:00" }),
  reading({ time: "0000-01-01T00:00:00.000Z" }),
  ...[[], 1, "rpm", true, null].map((values) => reading({ values })),
  ...[{ a: 1 }, [1], []].map((rpm) => reading({ values: { rpm } })),
  readingText("values", '{"rpm":1e999}', bad),
  reading({ values: { rpm: "\0" } }),
  reading({ values: { "\0": 1 } }),
  reading({ values: { [LONG]: 1 } }),
  reading({ values: { [WIDE]: 1 } }),
  reading({ values: Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`v${n}`, n])) }),
  ...["A", 1, [], { rpm: 5 }, { rpm: {} }, { rpm: "\0" }, { rpm: LONG }].map((units) =>
    reading({ units }),
  ),
  ...["bad", 1, [], { rpm: "bad" }, { rpm: { quality: 1 } }, { rpm: { reason: {} } }].map(
    (quality) => reading({ quality }),
  ),
  ...["x", 1, [], { note: "\0" }, { "\udfff": 1 }].map((attributes) => reading({ attributes })),
  reading({ name: 12 }),
  reading({ name: "a\0" }),
  reading({ location: { names: { area: "\0" } } }),
  reading({ raw: { text: "\0" } }),
  // Events, gaps.
  ...(["kind", "severity", "sensor", "alarm", "value", "state", "unit"] as const).flatMap((name) =>
    [12, {}, LONG, "\0"].map((value) => at("agent/event", EVENT, { [name]: value }, bad)),
  ),
  at("agent/event", EVENT, { id: "" }, bad),
  at("agent/event", EVENT, { id: WIDE }, bad),
  at("agent/event", EVENT, { id: undefined }, bad),
  at("agent/event", EVENT, { time: 1 }, bad),
  at("agent/event", EVENT, { time: "1970-01-01T00:00:00Z" }, "time_out_of_range"),
  at("agent/event", EVENT, { raised: "yesterday" }, bad),
  at("agent/event", EVENT, { text: 5 }, bad),
  at("agent/event", EVENT, { worst: { note: "\0" } }, bad),
  ...[12, {}, LONG, "\0"].map((sensor) => at("agent/gap", GAP, { sensor }, bad)),
  ...["3", 1.5, -1, 1e300, {}].map((count) => at("agent/gap", GAP, { count }, bad)),
  at("agent/gap", GAP, { reason: 5 }, bad),
  at("agent/gap", GAP, { from: "\0" }, bad),
  at("agent/gap", GAP, { from: NOW, to: "2020-01-01T00:00:00.000Z" }, bad),
  at("agent/gap", GAP, { uplink: [] }, bad),
  // Waveforms.
  at("100/waveform/channel1", WAVEFORM, { base64: "!!!!" }, bad),
  at("100/waveform/channel1", WAVEFORM, { base64: "garbage", samples: undefined }, bad),
  at("100/waveform/channel1", WAVEFORM, { base64: "", samples: 0 }, bad),
  at("100/waveform/channel1", WAVEFORM, { base64: 12 }, bad),
  at("100/waveform/channel1", WAVEFORM, { samples: 3 }, bad),
  at("100/waveform/channel1", WAVEFORM, { samples: "2" }, bad),
  at("100/waveform/channel1", WAVEFORM, { channel: LONG }, bad),
  ...["6400", 0, -1].map((sampleRate) =>
    at("100/waveform/channel1", WAVEFORM, { sampleRate }, bad),
  ),
  at("100/waveform/channel1", WAVEFORM, { axis: {} }, bad),
  // States, statistics, descriptions.
  at("agent/state", STATE, { state: 5 }, bad),
  at("agent/state", STATE, { time: "soon" }, bad),
  at("agent/state", STATE, { version: {} }, bad),
  at("agent/state", STATE, { reason: "\0" }, bad),
  at("agent/stats", STATS, { time: undefined }, bad),
  at("agent/stats", STATS, { configuration: 5 }, bad),
  at("agent/stats", STATS, { buffer: "\0" }, bad),
  ...["many", 1.5, -1, 1e300, {}].map((depth) =>
    at("agent/stats", STATS, { buffer: { depth } }, bad),
  ),
  at("agent/stats", STATS, { buffer: { hoursUntilFull: "9" } }, bad),
  at("agent/stats", STATS, { buffer: { oldestAgeS: [] } }, bad),
  at("agent/stats", STATS, { sensors: { silent: "none" } }, bad),
  at("agent/stats", STATS, { alarms: { alarm: true } }, bad),
  at("100/state", SENSOR, { state: {} }, bad),
  at("100/state", SENSOR, { battery: "full" }, bad),
  at("100/state", SENSOR, { lastReading: "0000-01-01" }, bad),
  at("100/state", SENSOR, { sensor: 12 }, bad),
  at("100/about", ABOUT, { location: 5 }, bad),
  at("100/about", ABOUT, { name: "\ud800" }, bad),
  at("100/about", ABOUT, { channels: [] }, bad),
  ...["bar", { rpm: "rpm" }, { rpm: { rpm: 7 } }, { rpm: { rpm: LONG } }].map((units) =>
    at("100/about", ABOUT, { units }, bad),
  ),
  // Nothing that we know.
  // Bodies of no family below a known site are counted as ignored.
  text("100/rpm", "{}", null),
  text("100/rpm", '{"hello":"world"}', null),
  text("agent/surprise", '{"v":1}', null),
  text("a/b/c/state", '{"state":"online"}', "ambiguous_topic"),
  text("agent/cmd/saveSettings", deep(5000), null),
];

/** Odd, but readings all the same: none of them may be rejected. */
export const ODD: readonly Malformed[] = [
  ["name", JSON.stringify(LONG)],
  ["later", "[1]"],
  ["attributes", '{"startPeriod":"0000-01-01T00:00:00.000Z"}'],
  ["attributes", '{"__proto__":{"a":1}}'],
  ["values", '{"rpm":5e-324,"battery":-0}'],
  ["values", '{"constructor":1,"toString":"x"}'],
  ["raw", deepObject(20)],
].map(([name = "", json = ""], n) => ({
  topic: `${SITE}/${READING_AT}`,
  payload: readingPayload(8_000_000 + n, { time: NOW, [name]: "@" }).replace('"@"', json),
  reason: null,
}));
