import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { faultLine } from "../../src/config/fault.ts";
import { parseJsonText } from "../../src/config/json-text.ts";
import { loadSite } from "../../src/config/site.ts";

type Change = Record<string, unknown>;
const ACCEL: Change = { code: "10234", type: 3, kinds: ["accel"] };
const CURRENT: Change = {
  code: "20871",
  type: 9,
  kinds: ["currentV2"],
  channels: { current1: { clamp: 100 } },
};
const LOOP_CHANNEL: Change = { unit: "bar", low: 0, high: 10 };
const LOOP: Change = {
  code: "30007",
  type: 12,
  kinds: ["loop"],
  channels: { channel1: LOOP_CHANNEL },
};

const RPM = { code: "70001", type: 40, kinds: ["rpm"] };
const site = (...sensors: unknown[]) => ({ site: "plant-7", sensors });
const load = (written: unknown, sparkplug = false) =>
  loadSite(JSON.stringify(written), "site.json", { sparkplug });
const lines = (written: unknown, sparkplug = false) =>
  load(written, sparkplug).faults.map(faultLine);

/** Each is one mistake: exactly one fault, at this place. */
const WRONG: readonly [string, unknown, string][] = [
  ["no site", { sensors: [ACCEL] }, "site"],
  ["an empty site name", { site: "", sensors: [ACCEL] }, "site"],
  ["no sensor", { site: "x", sensors: [] }, "sensors"],
  ["an unknown key", { ...site(ACCEL), sensor: [] }, "sensor"],
  ["an unknown key of a sensor", site({ ...ACCEL, kind: "accel" }), "sensors[0].kind"],
  ["a code without quotes", site({ ...ACCEL, code: 10234 }), "sensors[0].code"],
  ["a code named agent", site({ ...ACCEL, code: "agent" }), "sensors[0].code"],
  ["a code given twice", site(ACCEL, LOOP, { ...ACCEL, type: 4 }), "sensors[2].code"],
  ["a code that differs by zeros", site(ACCEL, { ...ACCEL, code: "0010234" }), "sensors[1].code"],
  [
    "codes that share a topic",
    site({ ...ACCEL, code: "a/b" }, { ...ACCEL, code: "a+b" }),
    "sensors[1].code",
  ],
  ["no type", site({ code: "1", kinds: ["rpm"] }), "sensors[0].type"],
  ["a misspelt kind", site({ ...CURRENT, kinds: ["currentv2"] }), "sensors[0].kinds[0]"],
  ["no kind", site({ ...ACCEL, kinds: [] }), "sensors[0].kinds"],
  ["a kind twice", site({ ...ACCEL, kinds: ["accel", "accel"] }), "sensors[0].kinds"],
  ["a poll interval of 0", site({ ...ACCEL, pollIntervalS: 0 }), "sensors[0].pollIntervalS"],
  [
    "a loop whose channels are all accel's alone",
    site({ ...ACCEL, kinds: ["accel", "loop"], channels: { channel1: { axis: "H" } } }),
    "sensors[0].channels",
  ],
  [
    "a missing clamp",
    site({ ...CURRENT, channels: { current1: { name: "L1" } } }),
    "sensors[0].channels.current1.clamp",
  ],
  [
    "a clamp nobody makes",
    site({ ...CURRENT, channels: { current1: { clamp: 200 } } }),
    "sensors[0].channels.current1.clamp",
  ],
  ["current without channels", site({ ...CURRENT, channels: {} }), "sensors[0].channels"],
  [
    "a fourth channel of three",
    site({
      ...CURRENT,
      kinds: ["current"],
      channels: { current1: { clamp: 50 }, current4: { clamp: 50 } },
    }),
    "sensors[0].channels.current4",
  ],
  [
    "a missing range",
    site({ ...LOOP, channels: { channel1: { unit: "bar", low: 0 } } }),
    "sensors[0].channels.channel1.high",
  ],
  [
    "a loop channel without a unit",
    site({ ...LOOP, channels: { channel2: { low: 0, high: 1 } } }),
    "sensors[0].channels.channel2.unit",
  ],
  [
    "a member of another kind",
    site({ ...LOOP, channels: { channel1: { ...LOOP_CHANNEL, clamp: 50 } } }),
    "sensors[0].channels.channel1.clamp",
  ],
  [
    "a channel that no kind has",
    site({ code: "1", type: 1, kinds: ["rpm"], channels: { input1: {} } }),
    "sensors[0].channels.input1",
  ],
  [
    "a channel name that does not exist",
    site({ ...LOOP, channels: { channel1: LOOP_CHANNEL, channel5: LOOP_CHANNEL } }),
    "sensors[0].channels.channel5",
  ],
  ["a speed of 0", site({ ...ACCEL, speedRpm: 0 }), "sensors[0].speedRpm"],
  ["limits that fall", site({ ...ACCEL, limits: [3, 2, 4] }), "sensors[0].limits"],
  ["limits of two", site({ ...ACCEL, limits: [1, 2] }), "sensors[0].limits"],
  ["an unknown class", site({ ...ACCEL, machineClass: "group3-rigid" }), "sensors[0].machineClass"],
  [
    "displacement limits that do not exist",
    site({ ...ACCEL, machineClass: "class1", checkDisplacement: true }),
    "sensors[0].checkDisplacement",
  ],
  [
    "a location without an id",
    site({ ...ACCEL, location: { company: 1, area: 2, machine: 3 } }),
    "sensors[0].location.point",
  ],
];
for (const [what, written, place] of WRONG) {
  test(`site file – ${what} is one error, at ${place}`, () => {
    const { faults, site: result } = load(written);
    assert.deepEqual(
      faults.map((f) => f.place),
      [`site.json: ${place}`],
      faults.map(faultLine).join("\n"),
    );
    assert.ok(faults.every((f) => f.remedy !== ""));
    assert.equal(result, null);
  });
}

test("site file – accumulated current may name the clamp of its channels, although it is not needed", () => {
  assert.deepEqual(lines(site({ ...CURRENT, kinds: ["accCurrent"] })), []);
});

test("site file – a required key that is misspelt is one fault, not an unknown key and a missing one", () => {
  const { type, ...others } = ACCEL;
  assert.deepEqual(
    loadSite(JSON.stringify(site({ ...others, typ: type })), "site.json").faults.map(faultLine),
    ["site.json: sensors[0].typ: is an unknown key; did you mean type? Otherwise remove it"],
  );
  assert.match(
    loadSite(JSON.stringify(site(others)), "site.json")
      .faults.map(faultLine)
      .join(),
    /sensors\[0\]\.type: is missing/,
  );
});

test("site file – unknown keys and words are reported with the nearest known one", () => {
  assert.match(
    lines(site({ ...ACCEL, machineclass: "class1" })).join(),
    /did you mean machineClass/,
  );
  assert.match(
    lines(site({ ...CURRENT, kinds: ["currentv2"] })).join(),
    /did you mean "currentV2"/,
  );
});

test("site file – a value of the wrong type is reported with what to write", () => {
  assert.match(lines(site({ ...ACCEL, code: 10234 })).join(), /write a string in quotes: "10234"$/);
  assert.match(lines(site({ ...ACCEL, type: "3" })).join(), /whole number, without quotes: 3$/);
  assert.match(
    lines(site({ ...LOOP, channels: { channel1: { ...LOOP_CHANNEL, low: "0,5" } } })).join(),
    /write a number with a decimal point and without a comma$/,
  );
  assert.match(
    lines(site({ ...CURRENT, channels: { current1: { clamp: 70 } } })).join(),
    /70 is not allowed; use 50, 100, 250 or 500$/,
  );
});

test("site file – a duplicate sensor is reported with the name of the other, for people who use the form", () => {
  const [fault] = load(site({ ...RPM, name: "Tank" }, { ...RPM, code: `0${RPM.code}` })).faults;
  assert.match(fault?.problem ?? "", /is the same sensor as sensors\[0\], "Tank"$/);
  assert.match(fault?.remedy ?? "", /use another serial number, or keep one entry/);
});

test("site file – names that are changed in topics cause a warning with both spellings", () => {
  const sensors = ["4/0", "4_1", "4#2"].map((code) => ({ ...RPM, code }));
  const warnings = load({ site: "plant/7 +", sensors }).warnings.map(faultLine);
  assert.match(warnings[0] ?? "", /site: "plant\/7 \+" appears in topics as "plant_7 _"/);
  assert.match(
    warnings[1] ?? "",
    /sensors\[0\]\.code: "4\/0" appears in topics as "4_0".*so do 1 more/,
  );
  assert.equal(warnings.length, 2);
});

test("site file – names with dots cause one warning: RabbitMQ takes them for the ends of levels", () => {
  const sensors = ["4.0", "4_1", "4.2"].map((code) => ({ ...RPM, code }));
  const warnings = load({ site: "plant.7", sensors }).warnings.map(faultLine);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /: site: "plant\.7", and 2 more names: RabbitMQ/);
});

test("site file – all errors in a file are reported at once", () => {
  const written = {
    site: "x",
    sensors: [
      { ...CURRENT, channels: { current1: {} } },
      { ...LOOP, code: "agent" },
      { code: "1" },
    ],
  };
  assert.equal(lines(written).length, 4, lines(written).join("\n"));
});

test("site file – a code that Sparkplug does not allow is an error if that format is enabled", () => {
  const written = site({ ...ACCEL, code: "a/b" });
  assert.equal(lines(written, false).length, 0);
  assert.match(lines(written, true).join(), /sensors\[0\]\.code: .*Sparkplug/);
});

test("site file – codes that differ only in letter case are one device to Sparkplug hosts", () => {
  const written = site({ ...ACCEL, code: "pump" }, CURRENT, { ...LOOP, code: "PUMP" });
  assert.equal(lines(written, false).length, 0);
  const [fault, ...others] = lines(written, true);
  assert.match(
    fault ?? "",
    /sensors\[2\]\.code: "PUMP" differs from sensors\[0\] only in letter case/,
  );
  assert.deepEqual(others, []);
});

test("site file – a site named STATE cannot be the Sparkplug group, because that name is reserved for hosts", () => {
  const text = JSON.stringify({ ...site(ACCEL), site: "STATE" });
  const faults = (isSparkplugGroup: boolean) =>
    loadSite(text, "site.json", { sparkplug: true, isSparkplugGroup }).faults.map(faultLine);
  assert.match(faults(true).join(), /^site\.json: site: STATE .*set SPARKPLUG_GROUP_ID/);
  assert.deepEqual(faults(false), []);
  assert.deepEqual(loadSite(text, "site.json", { isSparkplugGroup: true }).faults, []);
});

test("site file – a JSON syntax error is reported with line and column", () => {
  const at = (text: string) => loadSite(text, "site.json").faults.map((f) => f.place);
  assert.deepEqual(at('{\n  "site": "x",\n  "sensors": [],\n}'), ["site.json:4:1"]);
  assert.deepEqual(at('{"site" "x"}'), ["site.json:1:9"]);
  assert.deepEqual(at("{\n// hi\n}"), ["site.json:2:1"]);
  assert.deepEqual(at(""), ["site.json:1:1"]);
  const said = (text: string) => loadSite(text, "s").faults.map(faultLine).join("\n");
  assert.equal(
    said('{"high": 10,5}'),
    "s:1:13: a number with a comma; write a decimal point: 10.5, not 10,5",
  );
  assert.equal(
    said('{"site": "plant\t7"}'),
    "s:1:16: a tab inside a string; write a space, or \\t",
  );
  assert.match(said('{"site": "a\\path"}'), /^s:1:12: a backslash .*write two/);
  assert.match(said('{"site": "plant\n7"}'), /^s:1:10: a string that does not end on its line;/);
  assert.match(
    loadSite('{"site":"x","site":"y","sensors":[]}', "site.json").faults.map(faultLine).join("\n"),
    /site\.json:1:13: duplicate key "site"/,
  );
});

test("site file – a byte order mark and an inverted range are accepted", () => {
  const inverted = site({ ...LOOP, channels: { channel1: { unit: "%", low: 100, high: 0 } } });
  assert.deepEqual(loadSite(`\uFEFF${JSON.stringify(inverted)}`, "site.json").faults, []);
});

test("site file – accel and loop may share channel names", () => {
  const both = { ...ACCEL, kinds: ["accel", "loop"] };
  const channels = { channel1: { axis: "V" }, channel2: { axis: "H", ...LOOP_CHANNEL } };
  assert.deepEqual(lines(site({ ...both, channels })), []);
});

test("site file – contradictions that do no harm cause a warning", () => {
  const location = { company: 1, area: 2, machine: 3, point: 4 };
  const { warnings, site: result } = load(
    site(
      { ...ACCEL, location, channels: { channel1: { axis: "V" }, channel2: {} } },
      { ...LOOP, location: { ...location, company: 9 }, machineClass: "class1" },
      { ...LOOP, code: "30008", channels: { channel1: { ...LOOP_CHANNEL, low: 10 } } },
    ),
  );
  assert.ok(result);
  assert.deepEqual(
    warnings.map((w) => w.place),
    [
      "site.json: sensors[0].channels.channel2.axis",
      "site.json: sensors[1].machineClass",
      "site.json: sensors[2].channels.channel1.high",
      "site.json: sensors[1].location.company",
    ],
  );
});

test("site file – every example passes without warnings, and every kind has one", () => {
  const directory = join("config", "examples");
  const kinds = new Set<string>();
  for (const name of readdirSync(directory).filter((name) => name !== "uplinks.json")) {
    const loaded = loadSite(readFileSync(join(directory, name), "utf8"), name, { sparkplug: true });
    assert.deepEqual([...loaded.faults, ...loaded.warnings].map(faultLine), [], name);
    for (const sensor of loaded.site?.sensors ?? [])
      for (const kind of sensor.kinds) kinds.add(kind);
  }
  assert.equal(kinds.size, 7);
});

test("site file – no JSON value crashes the check", () => {
  const key = fc.constantFrom(
    "site",
    "sensors",
    "code",
    "kinds",
    "channels",
    "channel1",
    "limits",
    "location",
    "x",
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, 1, "accel", "loop", "current", "agent", true, -0.5),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, (written) => {
      const { site: result, faults } = load(written);
      assert.equal(result === null, faults.length > 0);
    }),
  );
});

test("JSON text – is accepted and rejected exactly as by JSON.parse", () => {
  const damaged = fc
    .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 2 }), fc.nat(2))
    .map(([text, at, insert, cut]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + insert + text.slice(place + cut);
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), damaged), (text) => {
      let expected: unknown;
      let isValid = true;
      try {
        expected = JSON.parse(text);
      } catch {
        isValid = false;
      }
      const parsed = parseJsonText(text);
      assert.equal("value" in parsed, isValid, text);
      if ("value" in parsed) assert.deepEqual(parsed.value, expected);
    }),
    { numRuns: 500 },
  );
});

test("site file – characters that are not UTF-8 are reported with their place, and UTF-16 as what it is", () => {
  const latin1 = Buffer.from(JSON.stringify(site(ACCEL)).replace("{", '{\n"x":"ü",'), "latin1");
  const { warnings } = loadSite(latin1.toString("utf8"), "site.json");
  assert.deepEqual(warnings.map(faultLine), [
    "site.json:2:6: has a character that is not UTF-8; save the file as UTF-8",
  ]);
  for (const mark of ["", "\uFEFF"]) {
    const utf16 = Buffer.from(`${mark}{"site": "plant"}`, "utf16le").toString("utf8");
    assert.deepEqual(loadSite(utf16, "site.json").faults.map(faultLine), [
      "site.json:1:1: is not UTF-8 text; save the file as UTF-8",
    ]);
  }
});

test("site – characters that cannot be seen, or are written in two ways, are told in a name", () => {
  const warnings = (code: string) =>
    loadSite(JSON.stringify({ site: "s", sensors: [{ code, type: 1, kinds: ["rpm"] }] }), "x")
      .warnings.filter(({ problem }) => /cannot be seen|separate accents/.test(problem))
      .map(({ place }) => place);
  assert.deepEqual(warnings("12\u200b3"), ["x: sensors[0].code"]);
  assert.deepEqual(warnings("12\u00a03"), ["x: sensors[0].code"]);
  assert.deepEqual(warnings("Gera\u0308t"), ["x: sensors[0].code"]);
  assert.deepEqual(warnings("Ger\u00e4t 7"), []);
});

test("site – a misspelt channel is to be renamed, as what stands in it is meant", () => {
  const remedy = (key: string) => {
    const channels = { [key]: { unit: "bar", low: 0, high: 10 } };
    const sensor = { code: "1", type: 12, kinds: ["loop"], channels };
    const { faults } = loadSite(JSON.stringify({ site: "s", sensors: [sensor] }), "x");
    return faults.find(({ place }) => place.includes(key))?.remedy;
  };
  for (const key of ["chanel2", "Channel2", "channel_2", "ch2"])
    assert.equal(remedy(key), "rename it to channel2", key);
});

test("site – a phase written as L1 is to be renamed to a current, and min, max and squareRoot to the members they mean", () => {
  const remedies = (channels: object, kind: string) =>
    loadSite(
      JSON.stringify({ site: "s", sensors: [{ code: "1", type: 9, kinds: [kind], channels }] }),
      "x",
    )
      .faults.filter(({ problem }) => problem === "is an unknown key")
      .map(({ remedy }) => remedy);
  assert.deepEqual(remedies({ L1: { clamp: 100 } }, "currentV2"), ["rename it to current1"]);
  assert.deepEqual(
    remedies({ channel1: { unit: "bar", min: 0, max: 10, squareRoot: true } }, "loop"),
    ["low", "high", "extraction"].map((name) => `did you mean ${name}? Otherwise remove it`),
  );
});

test("site – a transformer's ratio in a wrong form is reported with what to write", () => {
  const report = (ratio: unknown) =>
    lines(site({ ...CURRENT, channels: { current1: { clamp: 100, ratio } } })).join();
  assert.match(report("400"), /write a number, without quotes: 400, or what is on the plate, such/);
  assert.match(report("400:5A"), /write a number without quotes, or .* such as "400:5"$/);
});
