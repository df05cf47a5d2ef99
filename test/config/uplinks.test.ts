import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { faultLine } from "../../src/config/fault.ts";
import { loadSite } from "../../src/config/site.ts";
import { loadUplinks } from "../../src/config/uplinks.ts";
import type { UplinksContext } from "../../src/config/uplinks-context.ts";
import type { Uplink } from "../../src/core/uplink.ts";
import { ODD_UPLINKS, PLANTED } from "../support/odd-uplinks.ts";

type Change = Record<string, unknown>;
const { site } = loadSite(readFileSync("config/examples/plant.json", "utf8"), "plant.json");
const CONTEXT: UplinksContext = { site, main: null, commandsEnabled: false };
const CLOUD: Change = { name: "cloud", url: "mqtt://cloud.example:1883" };
const SCADA: Change = { name: "scada", url: "mqtt://scada.example", formats: ["sparkplug"] };

const load = (written: unknown, context: Partial<UplinksContext> = {}) =>
  loadUplinks(JSON.stringify(written), "/etc/gateside/uplinks.json", { ...CONTEXT, ...context });
const file = (...uplinks: unknown[]) => ({ uplinks });

/** Each is one mistake: exactly one fault, at this place. */
const WRONG: readonly [string, unknown, string][] = [
  ["no list", {}, "uplinks"],
  ["an unknown key", { uplinks: [CLOUD], uplink: [] }, "uplink"],
  ["an unknown key of an uplink", file({ ...CLOUD, urls: "x" }), "uplinks[0].urls"],
  ["a password in the file", file({ ...CLOUD, password: "x" }), "uplinks[0].password"],
  ["no name", file({ url: "mqtt://a.example" }), "uplinks[0].name"],
  ["a name that is no topic level", file({ ...CLOUD, name: "a/b" }), "uplinks[0].name"],
  ["the reserved name", file({ ...CLOUD, name: "main" }), "uplinks[0].name"],
  ["a name twice", file(CLOUD, { ...CLOUD, url: "mqtt://other.example" }), "uplinks[1].name"],
  ["no address", file({ name: "cloud" }), "uplinks[0].url"],
  ["another scheme", file({ ...CLOUD, url: "http://a.example" }), "uplinks[0].url"],
  [
    "credentials in the address",
    file({ ...CLOUD, url: "mqtt://u:pw@a.example" }),
    "uplinks[0].url",
  ],
  [
    "one of two addresses wrong",
    file({ ...CLOUD, url: "mqtt://a.example,b.example" }),
    "uplinks[0].url",
  ],
  [
    "an address twice",
    file({ ...CLOUD, url: "mqtt://a.example,mqtt://a.example" }),
    "uplinks[0].url",
  ],
  [
    "mqtt:// on the port of TLS",
    file({ ...CLOUD, url: "mqtt://a.example:8883" }),
    "uplinks[0].url",
  ],
  [
    "one client id at two listeners of a broker",
    file(
      { ...CLOUD, clientId: "box" },
      { name: "b", url: "mqtts://cloud.example", clientId: "box", topicPrefix: "b" },
    ),
    "uplinks[1].clientId",
  ],
  [
    "a template that writes the topics of another uplink at the broker",
    file(CLOUD, {
      ...CLOUD,
      name: "b",
      topicPrefix: "b",
      topics: { reading: "gateside/{site}/{sensor}/{kind}" },
    }),
    "uplinks[1].topics",
  ],
  [
    "the same at another listener of the broker",
    file(CLOUD, {
      ...CLOUD,
      name: "b",
      url: "ws://cloud.example",
      topicPrefix: "b",
      topics: { reading: "gateside/{site}/{sensor}/{kind}" },
    }),
    "uplinks[1].topics",
  ],
  [
    "a template below the agent's topics of another uplink at the broker",
    file(CLOUD, {
      ...CLOUD,
      name: "b",
      topicPrefix: "b",
      topics: { reading: "gateside/{site}/agent/cmd/{kind}-{sensor}" },
    }),
    "uplinks[1].topics",
  ],
  [
    "the same in the first of the two",
    file(
      { ...CLOUD, topicPrefix: "b", topics: { reading: "gateside/{site}/agent/{kind}-{sensor}" } },
      { ...CLOUD, name: "b" },
    ),
    "uplinks[1].topics",
  ],
  [
    "one client id at two names of this machine",
    file(
      { ...CLOUD, url: "mqtt://localhost", clientId: "box" },
      { name: "b", url: "mqtt://127.0.0.1", clientId: "box", topicPrefix: "b" },
    ),
    "uplinks[1].clientId",
  ],
  [
    "a template below Sparkplug's namespace",
    file({ ...CLOUD, topics: { reading: "spBv1.0/{site}/{sensor}/{kind}" } }),
    "uplinks[0].topics",
  ],
  ["an unknown format", file({ ...CLOUD, formats: ["xml"] }), "uplinks[0].formats[0]"],
  [
    "a topic prefix with wildcards",
    file({ ...CLOUD, topicPrefix: "a/#" }),
    "uplinks[0].topicPrefix",
  ],
  ["an unknown topic", file({ ...CLOUD, topics: { live: "x" } }), "uplinks[0].topics.live"],
  [
    "an unknown kind",
    file({ ...CLOUD, select: { kinds: ["noise"] } }),
    "uplinks[0].select.kinds[0]",
  ],
  ["an age of 0", file({ ...CLOUD, maxAgeHours: 0 }), "uplinks[0].maxAgeHours"],
  ["an age as text", file({ ...CLOUD, maxAgeHours: "12" }), "uplinks[0].maxAgeHours"],
  ["an unreadable secret", file({ ...CLOUD, passwordFile: "none" }), "uplinks[0].passwordFile"],
  ["an unreadable CA", file({ ...CLOUD, caFile: "/none.pem" }), "uplinks[0].caFile"],
  [
    "a password without a user on 3.1.1",
    file({ ...CLOUD, version: 4, passwordFile: "PASSWORD" }),
    "uplinks[0].passwordFile",
  ],
  [
    "a user name twice",
    file({ ...CLOUD, username: "a", usernameFile: "PASSWORD" }),
    "uplinks[0].usernameFile",
  ],
  [
    "a key for another profile",
    file({ ...CLOUD, sasKeyFile: "PASSWORD" }),
    "uplinks[0].sasKeyFile",
  ],
  ["a proxy of another scheme", file({ ...CLOUD, proxy: "socks5://p" }), "uplinks[0].proxy"],
  ["a proxy with a path", file({ ...CLOUD, proxy: "http://p:1/x" }), "uplinks[0].proxy"],
  ["a proxy with its password", file({ ...CLOUD, proxy: "http://u:pw@p:1" }), "uplinks[0].proxy"],
  [
    "credentials for no proxy",
    file({ ...CLOUD, proxyAuthFile: "PAIR" }),
    "uplinks[0].proxyAuthFile",
  ],
  [
    "credentials that are no pair",
    file({ ...CLOUD, proxy: "http://p:1", proxyAuthFile: "PASSWORD" }),
    "uplinks[0].proxyAuthFile",
  ],
  ["a protocol with a space", file({ ...CLOUD, alpn: ["a b"] }), "uplinks[0].alpn[0]"],
  [
    "two sessions with one client id at one broker",
    file({ ...CLOUD, clientId: "x" }, { ...CLOUD, name: "b", clientId: "x", topicPrefix: "b" }),
    "uplinks[1].clientId",
  ],
  [
    "two edge nodes of one name at one broker",
    file(SCADA, { ...SCADA, name: "b" }),
    "uplinks[1].sparkplug",
  ],
];

for (const [what, written, place] of WRONG) {
  test(`uplinks file: ${what} is one error, with its location`, (t) => {
    const directory = scratch(t);
    writeFileSync(join(directory, "PASSWORD"), "secret\n");
    writeFileSync(join(directory, "PAIR"), "user:secret\n");
    const path = join(directory, "uplinks.json");
    const { uplinks, faults } = loadUplinks(JSON.stringify(written), path, CONTEXT);
    assert.equal(uplinks, null);
    assert.deepEqual(
      faults.map((fault) => fault.place),
      [`${path}: ${place}`],
      faults.map(faultLine).join("\n"),
    );
    assert.ok(!faults.some((fault) => faultLine(fault).includes("pw@")));
  });
}

for (const [what, select, place] of [
  ["no such value", { values: ["*_noise"] }, "values[0]"],
  ["lists that agree on nothing", { sensors: ["10234"], kinds: ["rpm"] }, ""],
  [
    "a list of which only the sensors that left had the kind",
    { sensors: ["10234", "gone"], kinds: ["rpm"] },
    "sensors[1]",
  ],
] as const) {
  test(`uplinks file: a selection with ${what} is a warning: what ran yesterday starts today`, () => {
    const { uplinks, faults, warnings } = load(file({ ...CLOUD, select }));
    assert.deepEqual(faults.map(faultLine), []);
    assert.equal(uplinks?.length, 1);
    const places = warnings.map((one) => one.place.split(": ")[1]);
    const wanted = `uplinks[0].select${place === "" ? "" : `.${place}`}`;
    assert.ok(places.includes(wanted), places.join());
  });
}

function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "gateside-uplinks-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("every error in a file is reported at once", () => {
  const { faults } = load(
    file(
      { ...CLOUD, name: "main", formats: ["xml"] },
      { ...CLOUD, select: { values: ["*_noise"] }, caFile: "/x" },
    ),
  );
  assert.deepEqual(faults.map(({ place }) => place.split(": ")[1]).sort(), [
    "uplinks[0].formats[0]",
    "uplinks[0].name",
    "uplinks[1].caFile",
  ]);
});

test("text that is not JSON is reported with line and column", () => {
  const { faults } = loadUplinks('{ "uplinks": [\n  { "name": }\n] }', "/u.json", CONTEXT);
  assert.equal(faults[0]?.place, "/u.json:2:13");
  const comma = loadUplinks('{ "uplinks": [{ "name": "a", }] }', "/u.json", CONTEXT);
  assert.match(comma.faults[0]?.problem ?? "", /a comma after the last item/);
  const last = loadUplinks('{ "uplinks": [1, ] }', "/u.json", CONTEXT);
  assert.match(last.faults[0]?.problem ?? "", /a comma after the last item/);
});

test("a file that is not an object is reported by its path alone", () => {
  assert.equal(loadUplinks("[]", "/u.json", CONTEXT).faults[0]?.place, "/u.json");
});

test("an empty file is an error only if there is no other destination", () => {
  assert.equal(load(file()).faults[0]?.place, "/etc/gateside/uplinks.json: uplinks");
  const [main] = load(file(CLOUD)).uplinks ?? [];
  assert.deepEqual(load(file(), { main: main ?? null }).uplinks, []);
  // MQTT_URL is given, and a fault elsewhere keeps its uplink from being made.
  assert.deepEqual(load(file(), { hasMainUrl: true }).faults, []);
});

test("settings that are not given have the contract's defaults", () => {
  const [cloud] = load(file(CLOUD)).uplinks ?? [];
  const expected: Uplink = {
    name: "cloud",
    urls: ["mqtt://cloud.example:1883"],
    version: 5,
    clientId: "gateside-plant-7-cloud",
    username: null,
    password: null,
    tls: { caFile: null, certFile: null, keyFile: null },
    proxy: null,
    alpn: [],
    sasKey: null,
    formats: ["json"],
    profile: "gateside",
    topicPrefix: "gateside",
    topics: {},
    select: { kinds: [], sensors: [], areas: [], machines: [], values: [] },
    history: true,
    waveforms: "alarm",
    maxAgeHours: null,
    onChange: null,
    everyS: null,
    compact: false,
    machines: false,
    startFrom: "stored",
    inflight: 100,
    backlogRatePerS: 0,
    requireSubscriber: false,
    retain: true,
    withRaw: false,
    commands: false,
    sparkplug: null,
  };
  assert.deepEqual(cloud, expected);
});

test("secrets are read from files beside the uplinks file and appear in no error or warning", (t) => {
  const directory = scratch(t);
  writeFileSync(join(directory, "cloud.password"), " s3cret \n");
  const written = file({ ...CLOUD, username: "u", passwordFile: "cloud.password" });
  const path = join(directory, "uplinks.json");
  const { uplinks, warnings } = loadUplinks(JSON.stringify(written), path, CONTEXT);
  assert.equal(uplinks?.[0]?.password, "s3cret");
  assert.match(warnings.map(faultLine).join("\n"), /unencrypted over the network/);
  assert.ok(!JSON.stringify(warnings).includes("s3cret"));
});

test("a proxy has its credentials from a file, and ALPN without TLS is a warning", (t) => {
  const directory = scratch(t);
  writeFileSync(join(directory, "proxy"), "plant:a/b:c\n");
  const way = {
    proxy: "http://proxy.example:3128",
    proxyAuthFile: "proxy",
    alpn: ["x-amzn-mqtt-ca"],
  };
  const path = join(directory, "uplinks.json");
  const loaded = loadUplinks(JSON.stringify(file({ ...CLOUD, ...way })), path, CONTEXT);
  const [cloud] = loaded.uplinks ?? [];
  assert.equal(cloud?.proxy, "http://plant:a%2Fb%3Ac@proxy.example:3128");
  assert.deepEqual(cloud?.alpn, ["x-amzn-mqtt-ca"]);
  assert.match(loaded.warnings.map(faultLine).join("\n"), /alpn: has no effect/);
});

test("a secret in the wrong place appears in no error or warning", () => {
  for (const [what, written] of ODD_UPLINKS) {
    const { faults, warnings } = load(written);
    const lines = [...faults, ...warnings].map(faultLine).join("\n");
    assert.ok(faults.length > 0, what);
    assert.ok(!lines.includes(PLANTED), `${what}: ${lines}`);
    assert.doesNotMatch(lines, /undefined|null|: ;/, what);
  }
});

test("a misspelt password member is reported with the file member to use, other misspelt members with the nearest name", () => {
  const faultsOf = (written: object) => load(file({ ...CLOUD, ...written })).faults.map(faultLine);
  for (const key of ["passwrd", "pasword", "pass", "Password", "pwd"])
    assert.match(faultsOf({ [key]: "x" }).join(), /did you mean password\?.*set passwordFile/, key);
  assert.match(faultsOf({ sasKye: "x" }).join(), /did you mean sasKey\?.*set sasKeyFile/);
  assert.match(faultsOf({ passwordfile: "x" }).join(), /did you mean passwordFile\? Otherwise/);
  assert.match(
    faultsOf({ profile: "thingbord" }).join(),
    /"thingbord" is not allowed; did you mean/,
  );
  assert.match(faultsOf({ url: "mqqts://a" }).join(), /"mqqts:" is not a supported scheme/);
});

test("a client id of main cannot be used again at the same broker", () => {
  const [main] = load(file({ ...CLOUD, clientId: "x" })).uplinks ?? [];
  const again = {
    ...CLOUD,
    name: "b",
    url: "mqtt://CLOUD.example",
    clientId: "x",
    topicPrefix: "b",
  };
  const { faults } = load(file(again), { main: main ?? null });
  assert.deepEqual(
    faults.map(({ place }) => place),
    ["/etc/gateside/uplinks.json: uplinks[0].clientId"],
  );
});

test("uplinks with the same broker and prefix are reported once, and those at other brokers are not", () => {
  const at = (name: string, host = "cloud") => ({ name, url: `mqtt://${host}.example` });
  const faultsOf = (...uplinks: object[]) =>
    load(file(...uplinks)).warnings.map((one) => faultLine(one).replace(/^\S+ /, ""));
  assert.deepEqual(faultsOf(at("a"), at("b", "other")), []);
  assert.deepEqual(faultsOf(at("a"), at("b"), at("c"), at("d", "other"), at("e", "other")), [
    'uplinks[1].topicPrefix: "gateside" is also the prefix of uplinks[0] and uplinks[2] at the same broker, so all publish agent/state and the like there; use a different topicPrefix for each',
    'uplinks[4].topicPrefix: "gateside" is also the prefix of uplinks[3] at the same broker, so both publish agent/state and the like there; use a different topicPrefix for each',
  ]);
});

test("a template without placeholders puts all streams on one topic, which is an error with two of them", () => {
  const [fault] = load(file({ ...CLOUD, topics: { reading: "x" } })).faults;
  assert.match(fault?.place ?? "", /uplinks\[0\]\.topics$/);
  assert.match(fault?.problem ?? "", /^live readings of \S+ \w+ and live readings of .* topic x$/);
});

test("a sensor or pattern that matches nothing in the site file is a warning, even if nothing else is selected", () => {
  for (const sensors of [["10*", "zz*"], ["10*", "999"], ["zz*"], ["999"]]) {
    const { uplinks, warnings, faults } = load(file({ ...CLOUD, select: { sensors } }));
    assert.deepEqual([uplinks?.length, faults], [1, []], sensors.join());
    assert.deepEqual(
      warnings.map(({ place, problem }) => [place.split(": ")[1], problem]),
      [
        [
          `uplinks[0].select.sensors[${sensors.length - 1}]`,
          `"${sensors.at(-1)}" matches no sensor in the site file`,
        ],
      ],
    );
  }
});

test("an area, machine or kind that no sensor has is a warning, because a reload may have removed the last one", () => {
  for (const [select, what] of [
    [{ areas: [99] }, "areas"],
    [{ machines: [99], kinds: ["accel"] }, "machines"],
    [{ kinds: ["node"] }, "kinds"],
  ] as const) {
    const { uplinks, warnings, faults } = load(file({ ...CLOUD, select }));
    assert.deepEqual([uplinks?.length, faults], [1, []], what);
    assert.deepEqual(
      warnings.map(({ place }) => place.split(": ")[1]),
      [`uplinks[0].select.${what}[0]`],
    );
  }
});

test("the example has no errors", () => {
  const text = readFileSync("config/examples/uplinks.json", "utf8");
  const { faults } = loadUplinks(text, "/x/uplinks.json", CONTEXT);
  assert.deepEqual(faults.map(faultLine), []);
});

test("uplinks file – one client id at two ports of a host for the same protocol is a warning: these may be two brokers", () => {
  const at = (name: string, port: number) => ({
    name,
    url: `mqtt://host.example:${port}`,
    clientId: "box",
    topicPrefix: name,
  });
  const { faults, warnings } = load(file(at("a", 1883), at("b", 1884)));
  assert.deepEqual(faults, []);
  const [warning] = warnings.filter(({ place }) => place.endsWith("uplinks[1].clientId"));
  assert.match(warning?.problem ?? "", /if both are listeners of one broker/);
});

test("uplinks file – what works at one broker stays allowed: equal prefixes, other client ids", () => {
  for (const uplinks of [
    [CLOUD, { ...CLOUD, name: "b" }],
    [CLOUD, { name: "b", url: "mqtts://cloud.example:8883" }],
  ])
    assert.deepEqual(load(file(...uplinks)).faults, []);
});
