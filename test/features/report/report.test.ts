import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, decades, timeTicks } from "../../../src/core/drawing/figure-axes.ts";
import { METRIC, US } from "../../../src/core/read-units.ts";
import { reportDocument } from "../../../src/features/report/rules/document.ts";
import type { ReportInput } from "../../../src/features/report/rules/input.ts";

const T0 = Date.UTC(2026, 10, 20);
const alarm = (value: string, text: string) => ({
  timeMs: T0,
  sensor: "Feed line",
  alarm: "high",
  value,
  severity: "warning",
  state: "active",
  text,
  by: null,
});
const trend = (kind: string, value: string, isRms: boolean) => ({
  isMain: true,
  isWorst: false,
  title: value,
  kind,
  value,
  unit: "mm/s",
  isRms,
  lines: [
    {
      label: value,
      points: [
        { x: T0 + 1, y: 25.4 },
        { x: T0 + 2, y: 25.4 },
      ],
    },
  ],
  levels: [],
});
/** As figures.ts draws them. */
const CHARACTER_WIDTH = 6.2;
const INPUT: ReportInput = {
  site: "plant-7",
  machine: "Pump 4",
  area: null,
  fromMs: T0,
  toMs: T0 + 3_600_000,
  madeMs: T0,
  zone: "UTC",
  version: "0",
  units: US,
  isOver: false,
  condition: "warning",
  reason: "The loop is 8.2 mm/s.",
  action: "",
  worst: { alarm: "high", value: "channel1" },
  sinceMs: null,
  isSinceAtLeast: false,
  speedRpm: null,
  sensors: [],
  findings: [
    {
      title: "Unbalance, sensor 1, stage 2",
      action: "Balance it.",
      stage: 2,
      text: "1x is 2.54 mm/s. Balance it.",
      sinceMs: T0,
      lastSeenMs: T0,
      speedRpm: 1500,
      evidence: [
        {
          name: "1x",
          spectrum: "velocity",
          axis: "H",
          hz: 25,
          order: 1,
          amplitude: 2.54,
          unit: "mm/s",
        },
      ],
      spectrum: {
        timeMs: T0,
        unit: "mm/s",
        stepHz: 1,
        values: Array.from({ length: 60 }, () => 1),
      },
    },
  ],
  trends: [trend("accel", "channel1_vel_rms", true)],
  outlook: [],
  alarms: [alarm("channel1", "The loop is 8.2 mm/s."), alarm("channel1_1x", "1x is 2.54 mm/s.")],
  alarmsCut: false,
  notes: [],
};

test("report – US units: the detection is told once, spectra are peaks over cpm", () => {
  const { html } = reportDocument(INPUT);
  assert.doesNotMatch(html, /RMS RMS|RMS peak/);
  for (const text of ["in/s RMS", "in/s peak", "0.1 in/s peak", "1500 cpm", ">cpm<"])
    assert.ok(html.includes(text), text);
  assert.doesNotMatch(html, /\bHz\b/);
  assert.match(reportDocument({ ...INPUT, units: METRIC }).html, /25\.00 Hz/);
});

test("report – sentences about alarms tell times in the zone of the sheet", () => {
  const alarms = [alarm("channel1", "Shelved until 2026-11-28T12:32:49.528Z by Anna.")];
  const { html } = reportDocument({ ...INPUT, alarms, zone: "Europe/Berlin" });
  assert.match(html, /Shelved until 28 Nov 2026, 13:32 by Anna\./);
});

test("report – what a site configured itself stays: a loop in mm/s", () => {
  const loop = { ...INPUT, findings: [], trends: [trend("loop", "channel1", false)] };
  const { html } = reportDocument(loop);
  assert.equal(html.match(/The loop is 8\.2 mm\/s\./g)?.length, 2);
  assert.match(html, /1x is 0\.1 in\/s RMS\./);
  assert.match(html, />mm\/s</);
});

test("report – since when is its own sentence", () => {
  const since = { ...INPUT, sinceMs: T0 };
  assert.match(reportDocument(since).html, /8\.2 mm\/s\. Since [^<]+\.<\/p>/);
  const atLeast = { ...since, isSinceAtLeast: true };
  assert.match(reportDocument(atLeast).html, /mm\/s\. At least since /);
});

test("report – of a silent machine it says since when nothing is live, once", () => {
  const lastMs = T0 - 5 * 86_400_000;
  const silent = { name: "Sensor 1", zone: "A", lastMs, isLive: false };
  const five = { ...INPUT, sensors: [silent], sinceMs: lastMs };
  const { html } = reportDocument(five);
  assert.match(html, /mm\/s\. Not live since 15 Nov 2026, 00:00\.<\/p>/);
  assert.match(html, /<td>not live since 15 Nov 2026, 00:00<\/td>/);
  const live = { ...silent, name: "Sensor 2", lastMs: T0, isLive: true };
  const { html: one } = reportDocument({ ...five, sensors: [silent, live] });
  assert.equal(one.match(/[Nn]ot live since/g)?.length, 1);
});

test("report – state, recommendation and evidence are of one finding, whichever was found first", () => {
  const [first] = INPUT.findings;
  assert.ok(first !== undefined);
  const second = { ...first, title: "Unbalance, sensor 2, stage 2", text: "1x is 3.1 mm/s." };
  const reason = "1x is 3.1 mm/s. (and 1 more)";
  const { html } = reportDocument({ ...INPUT, reason, worst: null, findings: [first, second] });
  assert.match(html, /<strong>Unbalance, sensor 2, stage 2\.<\/strong>/);
  const [, findings = ""] = html.split("<h2>Findings</h2>");
  assert.match(findings, /^\s*<h3>Unbalance, sensor 2/);
});

test("report – what to do about a finding stands once in its section", () => {
  const section = reportDocument(INPUT).html.split("<h2>Findings</h2>")[1]?.split("<h2>")[0] ?? "";
  const [finding] = INPUT.findings;
  assert.ok(finding !== undefined && section.includes(finding.title));
  assert.equal(section.split(finding.action).length - 1, 1, section);
});

test("report – an open note has its time where that is known", () => {
  const note = { subject: "Pump 4", by: "Ann", note: "valve", timeMs: null };
  const { html } = reportDocument({ ...INPUT, notes: [note, { ...note, timeMs: T0 }] });
  assert.match(html, /“valve” \(Ann\)<.*“valve” \(Ann, [^)]+\)</s);
});

test("report – at most 5 MB, and it says what is left out", () => {
  const long = trend("accel", "channel1_vel_rms", true);
  const points = Array.from({ length: 240 }, (_, x) => ({ x: T0 + x * 15_000, y: x % 7 }));
  const trends = Array.from({ length: 3_000 }, () => ({
    ...long,
    lines: Array.from({ length: 6 }, (_, line) => ({ label: `axis ${line}`, points })),
  }));
  const { html } = reportDocument({ ...INPUT, trends });
  assert.ok(Buffer.byteLength(html) < 5_000_000, `${html.length}`);
  assert.match(html, /\d+ more trends are left out/);
});

test("report – six curves have their names below the figure, and a long time zone lies within it", () => {
  const labels = Array.from({ length: 6 }, (_, line) => `L${line}, average`);
  const lines = labels.map((label) => ({ label, points: [{ x: T0, y: 1 }] }));
  const zone = "America/Argentina/Buenos_Aires";
  const trends = [{ ...trend("currentV2", "current1_avg", false), lines }];
  const { html } = reportDocument({ ...INPUT, zone, findings: [], trends });
  const texts = [...html.matchAll(/<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]+)</g)];
  const of = (text: string) => texts.filter(([, , , , own]) => own === text);
  // A list that wraps: names of any length run neither into each other nor into the zone's.
  assert.deepEqual(
    [...html.matchAll(/<li><svg[^>]*>.*?<\/svg> ([^<]*)<\/li>/g)].map(([, name]) => name),
    labels,
  );
  const [[, x, y, more] = []] = of(zone);
  assert.match(String(more), /text-anchor="end"/);
  assert.ok(Number(x) - zone.length * CHARACTER_WIDTH > 0);
  const ticks = texts.filter(([, , own, anchor]) => own !== y && anchor?.includes("middle"));
  assert.ok(ticks.every(([, , own]) => Math.abs(Number(own) - Number(y)) > 10));
  const dashes = [...html.matchAll(/stroke-width="2" stroke-dasharray="([^"]*)"/g)].map(
    ([, d]) => d,
  );
  assert.equal(new Set(dashes).size, labels.length);
});

test("report – contacts are bars of their states, each with its name, not lines on top of each other", () => {
  const contacts = {
    ...trend("dryContact", "input1", false),
    lanes: ["Door open", "Running"].map((label) => ({
      label,
      spans: [
        { from: T0, to: T0 + 1_800_000, state: "on" as const },
        { from: T0 + 1_800_000, to: T0 + 3_600_000, state: "off" as const },
      ],
    })),
  };
  const { html } = reportDocument({ ...INPUT, findings: [], trends: [contacts] });
  const [figure = ""] = /<figure[ >].*?<\/figure>/.exec(html) ?? [];
  assert.match(figure, />Door open<.*>Running</);
  assert.equal(figure.match(/<rect/g)?.length, 1 + 4);
  assert.doesNotMatch(figure, /<path|class="legend"/);
});

test("report – ticks are round and enclose the values", () => {
  for (const [from, to, ticks] of [
    [0, 4, [0, 1, 2, 3, 4]],
    [1, 7.5, [0, 2, 4, 6, 8]],
    [-3, 17, [-5, 0, 5, 10, 15, 20]],
    [0, 38, [0, 10, 20, 30, 40]],
    [5, 5, [5, 5.2, 5.4, 5.6, 5.8, 6]],
  ] as const) {
    const axis = axisOf(from, to);
    assert.deepEqual(
      axis.ticks.map((tick) => Number(tick.toPrecision(9))),
      ticks,
      `${from} to ${to}`,
    );
    assert.deepEqual([axis.low, axis.high], [axis.ticks[0], axis.ticks.at(-1)]);
  }
  assert.deepEqual(decades(0.02, 30).ticks, [0.01, 0.1, 1, 10, 100]);
  assert.equal(decades(1e-20, 10).ticks.length, 9);
});

test("the times of a plot are those of the clock on the wall, also on days of 25 and 23 hours", () => {
  const zone = "Europe/Madrid";
  const texts = (fromMs: number, hours: number) =>
    timeTicks(fromMs, fromMs + hours * 3_600_000 - 1, zone).map(({ text }) => text);
  const autumn = texts(Date.UTC(2026, 9, 24, 22), 25);
  assert.deepEqual(autumn.slice(0, 4), ["25 Oct", "06:00", "12:00", "18:00"]);
  const spring = texts(Date.UTC(2026, 2, 28, 23), 5);
  assert.deepEqual(spring.slice(0, 4), ["29 Mar", "01:00", "03:00", "04:00"]);
  assert.equal(spring.at(-1), "23:00");
});

test("report – three sheets before the appendix: what is beyond the worst finding and each sensor's main value stands there", () => {
  const [finding] = INPUT.findings;
  assert.ok(finding !== undefined);
  const findings = [1, 2, 3, 4].map((n) => ({ ...finding, title: `Finding ${n}, stage 2` }));
  const own = { ...trend("accel", "channel1_vel_rms", true), title: "main one" };
  const beside = { ...own, title: "beside it", isMain: false, isWorst: false };
  const alarms = Array.from({ length: 12 }, (_, n) => alarm("channel1", `Event ${n}.`));
  const { html } = reportDocument({ ...INPUT, findings, trends: [own, beside], alarms });
  const [first = "", appendix = ""] = html.split('<h2 class="appendix">');
  assert.match(first, /Finding 1, stage 2\.<\/strong> Balance it\./);
  assert.equal(first.match(/<figcaption>Spectrum/g)?.length, 1);
  assert.ok(first.includes("Finding 3") && !first.includes("Finding 4"));
  assert.ok(appendix.includes("Finding 4"));
  assert.ok(first.includes("main one") && !first.includes("beside it"));
  assert.ok(appendix.includes("beside it"));
  assert.ok(first.includes("Event 9.") && !first.includes("Event 10."));
  assert.ok(appendix.includes("Event 11."));
});

test("report – a mean that stands for many readings has its lowest and highest around it, and no label leaves its figure", () => {
  const one = trend("loop", "channel1", false);
  const points = [
    { x: T0, y: 51, low: 15, high: 90 },
    { x: T0 + 60_000, y: 51, low: 14, high: 89 },
  ];
  const { html } = reportDocument({
    ...INPUT,
    trends: [{ ...one, lines: [{ label: "P$&Q", points }] }],
  });
  assert.match(html, /<path [^>]*fill-opacity/);
  assert.match(html, /P\$&#38;Q/);
  assert.doesNotMatch(html, /P<\/svg>/);
});
