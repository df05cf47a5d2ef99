import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseFlags } from "../../../src/cli/parse-flags.ts";
import { loadSite } from "../../../src/config/site.ts";
import { run } from "../../../src/features/discover/command.ts";
import { DISCOVER_FLAGS } from "../../../src/features/discover/flags.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { basicAuthorization } from "../../../src/lib/url-login.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { envelope, startFakeGateway, utcDay, wireTime } from "../../support/fake-gateway.ts";
import { OPTIONS, SITE } from "../../support/http-parts.ts";
import { queryParts } from "../query-service/query-parts.ts";

type After = { after(end: () => Promise<void> | void): void };

function directory(t: After): string {
  const path = mkdtempSync(join(tmpdir(), "gateside-discover-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

async function discover(cwd: string, words: readonly string[]) {
  let stdout = "";
  let stderr = "";
  const code = await run({
    flags: parseFlags(words, DISCOVER_FLAGS),
    env: {},
    cwd,
    stdout: { write: (text) => Boolean((stdout += String(text))) },
    stderr: { write: (text) => Boolean((stderr += String(text))) },
    signal: new AbortController().signal,
  });
  return { code, stdout, stderr };
}

async function ourService(t: After, word = "sensor"): Promise<string> {
  const names = createWireNames({ word, service: "" });
  const server = createHttpServer(queryParts(), { ...OPTIONS, token: "t0ken", names });
  const url = await server.listen();
  t.after(() => server.close());
  return url;
}

/** A service of another make: answers by operation. */
async function otherService(
  t: After,
  answer: (
    operation: string,
    body: Record<string, unknown>,
    authorization: string | undefined,
  ) => { status?: number; body: unknown },
): Promise<string> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const operation = request.url?.split("/").at(-1) ?? "";
      const { status, body } = answer(operation, JSON.parse(text), request.headers.authorization);
      response.statusCode = status ?? 200;
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const enveloped = (Value: unknown, StatusNumber: unknown = 0) => ({
  body: [{ Key: { StatusNumber, Description: "refused" }, Configs: [], Value }],
});

test("discover – a service that refuses, is something else, or is not there gives one line without the token", async (t) => {
  const cwd = directory(t);
  const flags = (url: string) => ["--url", url, "--token", "s3cret"];
  const cases = [
    [await otherService(t, () => enveloped([], 9001)), /number 9001/],
    [await otherService(t, () => ({ body: "<html>sign in</html>" })), /not JSON/],
    [await otherService(t, () => ({ status: 404, body: "" })), /HTTP 404/],
    ["http://127.0.0.1:1", /GetDevices: /],
  ] as const;
  for (const [url, expected] of cases) {
    const { code, stdout, stderr } = await discover(cwd, flags(url));
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, expected);
    assert.ok(!stderr.includes("s3cret"));
    assert.equal(stderr.trim().split("\n").length, 1);
  }
});

test("discover – wrong flags are reported before any request is sent", async (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "there.json"), "{}");
  const base = ["--url", "http://127.0.0.1:1", "--token", "x"];
  for (const [words, expected] of [
    [["--url", "ftp://x", "--token", "x"], /http/],
    [["--url", "http://x"], /use --token, --token-file, or --email with --password-file/],
    [[...base, "--kinds", "9=amperes"], /--kinds/],
    [[...base, "--kinds", "current"], /--kinds/],
    [[...base, "--clamp", "60"], /--clamp/],
    [[...base, "--loop", "bar:1:1"], /--loop/],
    [[...base, "--out", "there.json"], /there.json already exists/],
    [[...base, "--merge", "nowhere.json"], /nowhere\.json does not exist/],
    [[...base, "--merge", "there.json"], /no list of sensors/],
  ] as const) {
    await assert.rejects(discover(cwd, words), expected);
  }
});

test("discover – against our own service, the draft passes check, and stderr names what it could not know", async (t) => {
  const url = await ourService(t);
  const cwd = directory(t);
  const { code, stdout, stderr } = await discover(cwd, [
    "--url",
    `${url}/ApiWeb.svc/`,
    "--token",
    "t0ken",
  ]);
  const { site, faults } = loadSite(stdout, "draft");
  assert.deepEqual([code, faults], [0, []]);
  assert.equal(site?.site, "acme");
  assert.deepEqual(
    site?.sensors.map(({ code: sensor, kinds }) => [sensor, kinds]),
    [["10234", ["accel"]]],
  );
  assert.deepEqual(site?.sensors[0]?.location, {
    ...SITE.sensors[0]?.location,
    names: { company: "Acme", area: "Boiler house", machine: "Pump 4", point: "DE bearing" },
  });
  for (const code of ["20871", "30007", "40001"])
    assert.match(stderr, new RegExp(`${code}: left out`));
  assert.ok(!stderr.includes("t0ken"));
});

test("discover – with the operator's hints every sensor is drafted, and the assumptions are reported", async (t) => {
  const url = await ourService(t, "acme");
  const cwd = directory(t);
  const { code, stdout, stderr } = await discover(cwd, [
    "--url",
    url,
    "--token",
    "t0ken",
    "--site",
    "plant-7",
    "--wire-word",
    "acme",
    "--kinds",
    "9=currentV2+accCurrent",
    "--kinds=12=loop",
    "--kinds",
    "40=rpm",
    "--clamp",
    "100",
    "--loop",
    "bar:0:10",
  ]);
  const { site, faults } = loadSite(stdout, "draft");
  assert.deepEqual([code, faults], [0, []]);
  assert.equal(site?.site, "plant-7");
  assert.deepEqual(
    site?.sensors.map((sensor) => sensor.code),
    ["10234", "20871", "30007", "40001"],
  );
  assert.deepEqual(Object.keys(site?.sensors[1]?.channels ?? {}), ["current1", "current2"]);
  assert.match(stderr, /20871: clamps of 100 A .* correct those that differ/);
  assert.match(stderr, /30007: bar from 0 to 10/);
  assert.match(stderr, /40001: no location, because the service does not list one/);
});

test("discover – merging adds what is new and changes nothing that a person wrote", async (t) => {
  const url = await ourService(t);
  const cwd = directory(t);
  const hand: { $schema: string; site: string; sensors: object[] } = {
    $schema: "./site.schema.json",
    site: "hand-made",
    sensors: [
      { code: "99", type: 1, name: "only here", kinds: ["rpm"] },
      { code: "0010234", type: 77, name: "my name", kinds: ["accel"], machineClass: "class2" },
    ],
  };
  const placed = {
    code: "20871",
    type: 9,
    kinds: ["accCurrent"],
    location: { company: 5, area: 5, machine: 5, point: 5 },
  };
  hand.sensors.push(placed);
  writeFileSync(join(cwd, "site.json"), JSON.stringify(hand));
  const words = [
    "--url",
    url,
    "--token",
    "t0ken",
    "--merge",
    "site.json",
    "--out",
    "site.json",
    "--kinds",
    "40=rpm",
  ];
  const first = await discover(cwd, words);
  assert.equal(first.code, 0);
  const merged = JSON.parse(readFileSync(join(cwd, "site.json"), "utf8"));
  assert.deepEqual(Object.keys(merged), ["$schema", "site", "sensors"]);
  assert.equal(merged.site, "hand-made");
  assert.deepEqual(merged.sensors[0], hand.sensors[0]);
  assert.deepEqual(
    { ...merged.sensors[1], location: undefined },
    { ...hand.sensors[1], location: undefined },
  );
  assert.equal(merged.sensors[1].location.machine, 40);
  assert.deepEqual(merged.sensors[2], placed);
  assert.equal(merged.sensors[3].code, "40001");
  assert.match(first.stderr, /99: in the file but not listed by the service; kept/);
  const second = await discover(cwd, words);
  assert.match(second.stderr, /Sensors added[^:]*: 0; already there: [1-9]/);
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, "site.json"), "utf8")), merged);
});

test("discover – a new point of a machine with shafts, that stands on none, is told; what stands on one is not", async (t) => {
  const url = await ourService(t);
  const cwd = directory(t);
  const told = async (points: readonly number[], kinds = "accel") => {
    const shafts = [{ name: "fan", speedRatio: 0.531, points }];
    const site = { site: "hand-made", sensors: [], machines: [{ id: 40, shafts }] };
    writeFileSync(join(cwd, "site.json"), JSON.stringify(site));
    const words = ["--url", url, "--token", "t0ken", "--merge", "site.json"];
    const { stdout, stderr } = await discover(cwd, [...words, "--kinds", `3=${kinds}`]);
    assert.deepEqual(JSON.parse(stdout).machines, site.machines);
    return stderr.split("\n").filter((line) => line.includes("shaft"));
  };
  assert.deepEqual(await told([7]), [
    "note: 10234 (Pump 4 drive end): point 1 is on none of the `shafts` of machine 40 (fan), so it counts as on the measured shaft; if it is not, add it to the `points` of its shaft",
  ]);
  assert.deepEqual(await told([1]), []);
  assert.deepEqual(await told([7], "dryContact"), []);
});

test("discover – other shapes are read: a bare list, a wrapped response, a table, other letter case, no assignment operation", async (t) => {
  const url = await otherService(t, (operation, body) => {
    switch (operation) {
      case "GetDevices":
        return body["machineCode"] === -1
          ? enveloped([
              {
                Columns: ["ID", "Code", "Type", "Name"],
                Data: [[1, 500, "3", "Fan"], [2, "501", 4, null], ["row too short"]],
              },
            ])
          : enveloped({ code: "500", type: 3 }, "0");
      case "GetCompanies":
        return { body: [{ ID: "1", name: "Works" }] };
      case "GetAreas":
        return {
          body: {
            GetAreasResult: { key: { statusNumber: 0 }, value: [[{ Id: 2, Name: "Hall" }]] },
          },
        };
      case "GetMachines":
        return {
          body: [{ key: { statusnumber: 0 }, VALUE: [{ Id: 3, Name: "Fan" }, { Name: "no id" }] }],
        };
      case "GetPoints":
        return enveloped([{ Id: 4, Name: "" }]);
      case "GetAxis":
        return enveloped([
          { Id: 2, Name: "V" },
          { Id: 1, Name: "H" },
        ]);
      default:
        return { status: 404, body: "<html>" };
    }
  });
  const { code, stdout, stderr } = await discover(directory(t), ["--url", url, "--token", "x"]);
  assert.equal(code, 0, stderr);
  const { sensors } = JSON.parse(stdout);
  assert.deepEqual(sensors, [
    {
      code: "500",
      type: 3,
      name: "Fan",
      kinds: ["accel"],
      location: {
        company: 1,
        area: 2,
        machine: 3,
        point: 4,
        names: { company: "Works", area: "Hall", machine: "Fan" },
      },
      channels: { channel1: { axis: "V" }, channel2: { axis: "H" } },
    },
  ]);
  assert.match(stderr, /queried point by point/);
  assert.match(stderr, /501: left out, because the kinds of type 4 are unknown/);
});

test("discover – drafts as many channels as the device has, and does not read one that is disabled there", async (t) => {
  const device = { ID: 1, code: "300", type: 12, name: "", channelCount: 1, enabled: 0 };
  const devices = [device, { ...device, code: "301", channelCount: 9, enabled: 1 }];
  const url = await otherService(t, (operation) =>
    enveloped(operation === "GetDevices" ? devices : []),
  );
  const hints = ["--site", "s", "--kinds", "12=loop", "--loop", "bar:0:10"];
  const drafted = await discover(directory(t), ["--url", url, "--token", "x", ...hints]);
  const { sensors } = JSON.parse(drafted.stdout) as {
    sensors: { enabled?: boolean; channels: object }[];
  };
  assert.deepEqual(
    sensors.map(({ enabled, channels }) => [enabled, Object.keys(channels).length]),
    [
      [false, 1],
      [undefined, 4],
    ],
  );
  assert.match(drafted.stderr, /^note: 300: bar from 0 to 10 on 1 channel by --loop/m);
  assert.match(drafted.stderr, /^note: 300: not read .*disabled at the service/m);
});

test("discover – a status other than 0 counts in any letter case", async (t) => {
  const url = await otherService(t, () => ({
    body: { key: { statusNumber: 7, description: "no rights" }, value: [] },
  }));
  const { code, stderr } = await discover(directory(t), ["--url", url, "--token", "x"]);
  assert.equal(code, 1);
  assert.match(stderr, /the service returned number 7 \(no rights\)/);
});

test("discover – logs in with e-mail and password, which is read only from its file", async (t) => {
  const cwd = directory(t);
  writeFileSync(join(cwd, "password"), "t0ken\n");
  const url = await ourService(t);
  const login = ["--url", url, "--email", "me@plant.example", "--password-file", "password"];
  const done = await discover(cwd, [...login, "--site", "s"]);
  assert.match(done.stdout, /"sensors"/, done.stderr);
  writeFileSync(join(cwd, "wrong"), "n0ne\n");
  const refused = await discover(cwd, [...login.slice(0, -1), "wrong"]);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^error: Login: /m);
  assert.doesNotMatch(refused.stderr, /n0ne/);
  await assert.rejects(discover(cwd, ["--url", url]), /--email with --password-file/);
  await assert.rejects(discover(cwd, [...login, "--token", "x"]), /not both/);
  await assert.rejects(discover(cwd, login.slice(0, 4)), /--password-file/);
});

test("discover – an address of another service, and one where nothing listens, get a remedy", async (t) => {
  const cwd = directory(t);
  const elsewhere = await otherService(t, () => ({ status: 404, body: "" }));
  const wrong = await discover(cwd, ["--url", elsewhere, "--token", "x"]);
  assert.match(wrong.stderr, /HTTP 404; check that --url is the service's base address/);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  const closed = await discover(cwd, ["--url", `http://127.0.0.1:${port}`, "--token", "x"]);
  assert.match(closed.stderr, /ECONNREFUSED.*nothing listens there/);
});

test("discover – asks the gateway which kinds respond for a type; a flag takes precedence, a silent sensor is skipped", async (t) => {
  const cwd = directory(t);
  const device = (ID: number, code: string, type: number) => ({ ID, code, type, name: "" });
  const url = await otherService(t, (operation) =>
    operation === "GetDevices"
      ? enveloped([
          device(1, "100", 9),
          device(2, "101", 9),
          device(3, "200", 40),
          device(4, "300", 7),
          device(5, "400", 8),
        ])
      : enveloped([]),
  );
  const now = Date.now();
  const gateway = await startFakeGateway(t, ({ operation, body }) => {
    const code = body["sensorCode"];
    const isToday = body["date"] === utcDay(now);
    const time = wireTime(now - 60_000);
    if (operation === "getRPMData" && code === "200" && !isToday)
      return envelope([{ sensor_code: code, RPM: 1, time_data: wireTime(now - 86_400_000) }]);
    if (operation === "getCurrentData" && code === "101")
      return envelope([{ sensor_code: code, current1: 1, time_data: time }]);
    if (operation === "getAccCurrentData" && code === "101")
      return envelope([
        { sensor_code: code, accumulated_current1: 1, startPeriod: time, endPeriod: time },
      ]);
    return operation === "getDryContactData" ? { status: 404, body: "" } : envelope([]);
  });
  const words = ["--url", url, "--token", "x", "--gateway", gateway.url, "--clamp", "100"];
  const { code, stdout, stderr } = await discover(cwd, [...words, "--kinds", "8=dryContact"]);
  assert.equal(code, 0, stderr);
  const { sensors } = JSON.parse(stdout) as { sensors: { code: string; kinds: string[] }[] };
  assert.deepEqual(
    sensors.map(({ code: one, kinds }) => [one, kinds]),
    [
      ["100", ["current", "accCurrent"]],
      ["101", ["current", "accCurrent"]],
      ["200", ["rpm"]],
      ["400", ["dryContact"]],
    ],
  );
  assert.match(stderr, /type 9: treated as current and accCurrent, because .* records for 101/);
  assert.match(stderr, /type 7: the gateway has no records for 300 in the last 3 days.*--days/);
  assert.equal(gateway.calls.filter(({ body }) => body["sensorCode"] === "400").length, 0);

  const shut = await discover(cwd, [...words.slice(0, 5), "http://127.0.0.1:1"]);
  assert.equal(shut.code, 1);
  assert.match(shut.stderr, /^error: --gateway: .*ECONNREFUSED.*check that the gateway is on/m);
  const elsewhere = await otherService(t, () => ({ status: 404, body: "" }));
  const wrong = await discover(cwd, [...words.slice(0, 5), elsewhere]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /returned no valid response for any sensor: .*--gateway-service/);
  const locked = await otherService(t, (_operation, _body, authorization) =>
    authorization === basicAuthorization({ username: "u", password: "s3cret" })
      ? { status: 404, body: "" }
      : { status: 401, body: "" },
  );
  const login = (address: string) => discover(cwd, [...words.slice(0, 5), address]);
  assert.match(
    (await login(locked)).stderr,
    /refuses: .*HTTP 401.*--gateway http:\/\/user:password@/,
  );
  const open = await login(locked.replace("//", "//u:s3cret@"));
  assert.match(open.stderr, /HTTP 404/);
  assert.doesNotMatch(open.stderr, /s3cret/);
  await assert.rejects(
    discover(cwd, [...words.slice(0, 5), "ftp://u:s3cret@x"]),
    (error: Error) => {
      assert.match(error.message, /--gateway does not start with a supported scheme/);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    },
  );
});
