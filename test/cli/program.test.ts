import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "../../src/cli/commands.ts";
import { parseFlags } from "../../src/cli/parse-flags.ts";
import { parseDay, parseTime } from "../../src/cli/times.ts";
import { runCommand } from "../support/run-command.ts";

const PLANT = {
  GATEWAY_URL: "http://user:geheim@gateway",
  MQTT_URL: "mqtt://broker",
  MQTT_USERNAME: "bob",
  MQTT_PASSWORD: "tops3cret",
  SITE_FILE: resolve("config/examples/plant.json"),
};

test("program – an unknown command exits with 2 and names the nearest one", async () => {
  const run = await runCommand(["chekc"]);
  assert.equal(run.code, 2);
  assert.match(run.stderr, /did you mean check\?/);
  assert.equal(run.stdout, "");
});

test("program – a word that resembles no command gets no suggestion", async () => {
  const run = await runCommand(["xyzzy"]);
  assert.equal(run.code, 2);
  assert.equal(run.stderr, 'error: unknown command "xyzzy"; `gateside --help` lists them\n');
  assert.match((await runCommand(["sim"])).stderr, /did you mean simulate\?/);
  assert.match((await runCommand(["--hlep"])).stderr, /did you mean --help\?/);
  const early = await runCommand(["--environment", "plant.env", "check"]);
  assert.equal(early.code, 2);
  assert.match(early.stderr, /flags follow the command/);
  const helped = await runCommand(["help", "chekc"]);
  assert.equal(helped.code, 2);
  assert.match(helped.stderr, /unknown command "chekc"; did you mean check\?/);
  assert.match((await runCommand(["help", "check"])).stdout, /^Usage: gateside check/);
});

test("program – without a command it prints help and exits with 2", async () => {
  const run = await runCommand([]);
  assert.equal(run.code, 2);
  for (const { name } of COMMANDS) assert.ok(run.stderr.includes(`  ${name} `), name);
});

const SETTINGS =
  "--sensor 1 --range 8 --interval-send-data 60 --interval-rms 60 --alarm1 1 --alarm2 1 --alarm3 1";

const MISTAKES: readonly [string, string[], RegExp][] = [
  [
    "an unknown flag",
    ["check", "--jsno"],
    /--jsno is not a flag of this command; did you mean --json\?/,
  ],
  ["a value where none is due", ["check", "--json=1"], /--json takes no value/],
  ["a value that was forgotten", ["export", "--from", "--to", "x"], /--from needs a value/],
  ["a flag given twice", ["export", "--from", "a", "--from", "b"], /--from is specified twice/],
  ["a word out of place", ["check", "now"], /"now" is not expected/],
  ["a required flag left out", ["export", "--from", "2026-11-20"], /--to TIME is required/],
  [
    "several unknown flags at once",
    ["check", "--jsno", "--verbose", "3"],
    /these are not flags of this command: --jsno \(did you mean --json\?\), --verbose \(/,
  ],
  [
    "several required flags left out",
    ["settings", "--sensor", "1", "--range", "8", "--alarm1", "1", "--alarm2", "1"],
    /these are required: --interval-send-data MIN, --interval-rms S, --alarm3 MMS \(/,
  ],
  [
    "neither of two flags of which one is required",
    ["discover", "--url", "http://a"],
    /use --token, --token-file, or --email with --password-file/,
  ],
  [
    "a flag that resembles none",
    ["check", "--verbose"],
    /--verbose is not a flag of this command \(/,
  ],
  [
    "an address that is none",
    ["status", "--url", "foo"],
    /--url is not a complete address; use an address such as http/,
  ],
  [
    "an agent's address with a password",
    ["status", "--url", "http://user:tops3cret@127.0.0.1"],
    /--url contains a user name or password; an agent takes HTTP_TOKEN/,
  ],
  [
    "a file for the draft in a directory that is not there",
    ["discover", "--url", "http://a", "--token", "t", "--out", "/nodir/x"],
    /--out \/nodir\/x: the directory \/nodir does not exist/,
  ],
  [
    "a site file to add to that is not there",
    ["discover", "--url", "http://a", "--token", "t", "--merge", "/nodir/x"],
    /--merge: \/nodir\/x does not exist/,
  ],
  [
    "a bundle that cannot be written",
    ["doctor", "--bundle", "/proc"],
    /--bundle \/proc: .*\/(proc)? (cannot be written|is a directory)/,
  ],
  [
    "a kind that is misspelt",
    ["export", "--from", "2026-11-20", "--to", "2026-11-20", "--kind", "rmp"],
    /--kind "rmp" is not allowed; did you mean rpm\? Allowed: accel, .*rpm/,
  ],
  [
    "a site file that cannot be written",
    ["simulate", "--site-out", "/dev/null/site.json"],
    /--site-out \/dev\/null\/site\.json cannot be written \(/,
  ],
  ["a fault that is misspelt", ["simulate", "--fault", "cutt"], /named cutt; did you mean cut\?/],
  [
    "a wrong day",
    ["backfill", "--from", "2026-02-30", "--to", "2026-03-01"],
    /--from "2026-02-30"/,
  ],
  [
    "a wrong choice",
    ["export", "--from", "2026-11-20", "--to", "2026-11-20", "--format", "xml"],
    /--format "xml" is not allowed; use csv, jsonl, parquet, wav or npy/,
  ],
];
for (const [what, words, message] of MISTAKES) {
  test(`program – ${what} exits with 2 and one line`, async () => {
    const run = await runCommand(words, { env: PLANT });
    assert.equal(run.code, 2);
    assert.match(run.stderr, message);
    assert.equal(run.stderr.trimEnd().split("\n").length, 1, run.stderr);
  });
}

test("program – the help of every command lists its flags and gives an example, without loading it", async () => {
  for (const command of COMMANDS) {
    const run = await runCommand([command.name, "--help"]);
    assert.equal(run.code, 0);
    for (const { name } of command.flags) assert.ok(run.stdout.includes(`--${name}`), name);
    assert.match(run.stdout, /Examples\n {2}\S/);
    assert.ok(command.examples.length > 0);
  }
});

test("program – all commands of the contract exist and load", async () => {
  const names = COMMANDS.map((command) => command.name);
  for (const name of "run check doctor probe simulate demo status backfill export settings".split(
    " ",
  ))
    assert.ok(names.includes(name), name);
  for (const command of COMMANDS) assert.equal(typeof (await command.load()).run, "function");
});

test("program – prints its version", async () => {
  const run = await runCommand(["--version"]);
  assert.match(run.stdout, /^\d+\.\d+\.\d+\n$/);
});

test("program – wrong settings end every command with 2, with a line per error, before any work", async () => {
  const flags: Readonly<Record<string, string[]>> = {
    probe: ["--sensor", "1", "--kind", "rpm"],
    backfill: ["--from", "2026-11-20", "--to", "2026-11-20"],
    export: ["--from", "2026-11-20", "--to", "2026-11-20"],
    settings: SETTINGS.split(" "),
  };
  for (const name of ["run", "doctor", "probe", "status", "backfill", "export", "settings"]) {
    const env = { POLL_INTERVAL_S: "0", LOG_LEVEL: "loud" };
    const run = await runCommand([name, ...(flags[name] ?? [])], { env });
    assert.equal(run.code, 2, name);
    assert.match(run.stderr, /^error: POLL_INTERVAL_S: /m, name);
    assert.match(run.stderr, /^error: LOG_LEVEL: /m, name);
  }
});

test("program – a command that is ended before it has tried anything has failed", async () => {
  const flags: Readonly<Record<string, string[]>> = {
    probe: ["--sensor", "10234", "--kind", "accel"],
    backfill: ["--from", "2020-01-01", "--to", "2020-01-01"],
    settings: SETTINGS.split(" "),
    discover: ["--url", "http://127.0.0.1:9", "--token", "t"],
  };
  for (const name of [
    "doctor",
    "probe",
    "status",
    "backfill",
    "settings",
    "discover",
    "alarms",
    "reload",
  ]) {
    const cwd = mkdtempSync(join(tmpdir(), "gateside-ended-"));
    const env = { ...PLANT, DATA_DIR: cwd, GATEWAY_URL: "http://127.0.0.1:9", HTTP_PORT: "off" };
    const run = await runCommand([name, ...(flags[name] ?? [])], {
      env,
      signal: AbortSignal.abort(),
    });
    rmSync(cwd, { recursive: true });
    assert.equal(run.code, 1, `${name}: ${run.stdout}${run.stderr}`);
  }
});

test("check – shows every setting with its origin, and no secret", async () => {
  const run = await runCommand(["check"], { env: PLANT });
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /MQTT_URL +mqtt:\/\/broker +environment/);
  assert.match(run.stdout, /MQTT_CLIENT_ID +gateside-plant-7 +default/);
  assert.match(run.stdout, /MQTT_PASSWORD +\*{8} +environment/);
  assert.match(run.stdout, /GATEWAY_URL +http:\/\/gateway +environment/);
  assert.match(run.stdout, /0 faults/);
  assert.ok(!/tops3cret|geheim/.test(run.stdout + run.stderr));
});

test("check – errors in settings and site file are reported together, also as JSON", async () => {
  const env = { ...PLANT, SITE_FILE: "missing.json", HTTP_PORT: "x" };
  const run = await runCommand(["check"], { env });
  assert.equal(run.code, 2);
  assert.match(run.stderr, /^error: HTTP_PORT: .*^error: SITE_FILE: .*missing\.json/ms);
  const json = await runCommand(["check", "--json"], { env });
  assert.equal(json.code, 2);
  assert.match(run.stderr, /missing\.json does not exist; set it to a site file/);
  const report = JSON.parse(json.stdout) as { faults: { place: string }[] };
  assert.deepEqual(
    report.faults.map((f) => f.place),
    ["HTTP_PORT", "SITE_FILE"],
  );
  assert.ok(!/tops3cret|geheim/.test(json.stdout));
});

test("check – faults come first, with a count; --settings adds what was read, a rejected value not as in effect", async () => {
  const env = {
    ...PLANT,
    MQTT_URL: "",
    MQTT_PASSWORD: "",
    MQTT_USERNAME: "",
    POLL_INTERVAL_S: "soon",
    HTTP_TOKEN: "two words",
    GATEWAY_HEADERS: "tops3cret",
  };
  const plain = await runCommand(["check"], { env });
  assert.deepEqual([plain.code, plain.stdout], [2, ""]);
  assert.match(plain.stderr, /^error: [^]*\n\n4 faults, 1 warning: fix the faults above .*\n$/);
  const run = await runCommand(["check", "--settings"], { env });
  assert.equal(run.code, 2);
  assert.match(run.stdout, /^Settings as they were read\n/);
  assert.match(run.stdout, /^ {2}MQTT_URL +MISSING$/m);
  for (const name of ["POLL_INTERVAL_S", "HTTP_TOKEN", "GATEWAY_HEADERS"])
    assert.match(run.stdout, new RegExp(`^ {2}${name} +REJECTED +environment$`, "m"));
  assert.match(
    run.stderr,
    /10234 has no machine with a measured speed: no finding will ever come of it/,
  );
  const json = JSON.parse((await runCommand(["check", "--json"], { env })).stdout) as {
    settings: { name: string }[];
  };
  assert.deepEqual(
    json.settings.find(({ name }) => name === "POLL_INTERVAL_S"),
    { name: "POLL_INTERVAL_S", value: "", origin: "environment", fault: "rejected" },
  );
});

test("discover – its help says that a token, a token file or a login is required", async () => {
  const { stdout } = await runCommand(["discover", "--help"]);
  assert.match(
    stdout,
    /^ +--token TOKEN +token of the service; this, --token-file, or --email with --password-file is required$/m,
  );
});

test("check – ids that Sparkplug does not allow are errors in the settings or the site file", async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), "gateside-check-"));
  t.after(() => rmSync(cwd, { recursive: true }));
  const sensors = ["pump", "PUMP", "a/b"].map((code) => ({ code, type: 40, kinds: ["rpm"] }));
  writeFileSync(join(cwd, "site.json"), JSON.stringify({ site: "STATE", sensors }));
  const env = { ...PLANT, SITE_FILE: "site.json", PUBLISH_FORMATS: "json,sparkplug" };
  const places = async (more: object) => {
    const run = await runCommand(["check", "--json"], { env: { ...env, ...more }, cwd });
    const { faults } = JSON.parse(run.stdout) as { faults: { place: string }[] };
    return faults.map(({ place }) => place.replace(`${cwd}/site.json: `, "")).sort();
  };
  const codes = ["sensors[1].code", "sensors[2].code"];
  assert.deepEqual(await places({}), [...codes, "site"]);
  assert.deepEqual(await places({ SPARKPLUG_GROUP_ID: "plant" }), codes);
  assert.deepEqual(await places({ PUBLISH_FORMATS: "json" }), []);
});

test("flags – may be written with a space or an equals sign, and have defaults", () => {
  const specs = [
    { name: "a", value: "A", doc: "" },
    { name: "b", value: "B", doc: "", default: "2" },
    { name: "c", doc: "" },
    { name: "d", value: "D", doc: "", many: true },
  ];
  const flags = parseFlags(["--a=-1=2", "--d", "x", "--d", "y", "--c"], specs);
  assert.equal(flags.text("a"), "-1=2");
  assert.equal(flags.number("b", { min: 0, max: 5 }), 2);
  assert.equal(flags.has("c"), true);
  assert.deepEqual(flags.all("d"), ["x", "y"]);
  assert.throws(() => flags.number("b", { min: 3, max: 5 }), /--b "2" is not a number from 3 to 5/);
});

test("times – a day starts and ends in the configured zone", () => {
  const zone = "Europe/Berlin";
  const iso = (text: string, isEnd = false) =>
    new Date(parseTime("from", text, zone, isEnd)).toISOString();
  assert.equal(iso("2026-11-20"), "2026-11-19T23:00:00.000Z");
  assert.equal(iso("2026-11-20", true), "2026-11-20T23:00:00.000Z");
  assert.equal(iso("2026-10-25", true), "2026-10-25T23:00:00.000Z");
  assert.equal(iso("2026-11-20T06:00"), "2026-11-20T05:00:00.000Z");
  assert.equal(iso("2026-11-20T06:00:00Z", true), "2026-11-20T06:00:00.001Z");
  assert.equal(iso("2026-11-20T06:00:00.5Z"), "2026-11-20T06:00:00.500Z");
  assert.equal(iso("2026-11-20 06:00:00+0200"), "2026-11-20T04:00:00.000Z");
  for (const wrong of ["2026-13-01", "today", "2026-11-20T25:00:00Z", "20261120", ""])
    assert.throws(() => parseTime("from", wrong, zone, false), /--from/, wrong);
  assert.equal(parseDay("to", "2028-02-29"), "2028-02-29");
});
