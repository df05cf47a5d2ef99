/** What platforms ask of an uplink of the file. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { faultLine } from "../../../src/config/fault.ts";
import { loadUplinks } from "../../../src/config/uplinks.ts";

const SITE = {
  site: "plant-7",
  sensors: [{ code: "1", type: 3, kinds: ["accel"], channels: {} }],
} as const;
const CLOUD = { name: "cloud", url: "mqtt://cloud.example:1883" };
const PATH = "/etc/gateside/uplinks.json";
const file = (...uplinks: unknown[]) => ({ uplinks });
const load = (written: unknown) =>
  loadUplinks(JSON.stringify(written), PATH, { site: SITE, main: null, commandsEnabled: false });

/** Each is one mistake: exactly one fault, at this place. */
const WRONG: readonly [string, unknown, string][] = [
  [
    "two uplinks for Home Assistant at two listeners of a broker",
    file(
      { ...CLOUD, profile: "homeassistant" },
      {
        ...CLOUD,
        name: "b",
        url: "wss://cloud.example",
        topicPrefix: "b",
        profile: "homeassistant",
      },
    ),
    "uplinks[1].profile",
  ],
  [
    "two uplinks for Home Assistant at one broker",
    file(
      { ...CLOUD, profile: "homeassistant" },
      { ...CLOUD, name: "b", topicPrefix: "b", profile: "homeassistant" },
    ),
    "uplinks[1].profile",
  ],
  ...["a/b", "a+b", "a#b", "a b"].map((clientId): [string, unknown, string] => [
    `the device id ${clientId}`,
    file({ ...CLOUD, profile: "azure-iot", clientId }),
    "uplinks[0].clientId",
  ]),
  [
    "a client id that is too long for AWS",
    file({ ...CLOUD, profile: "aws-iot", clientId: "ü".repeat(100) }),
    "uplinks[0].clientId",
  ],
  [
    "a platform without json",
    file({ ...CLOUD, profile: "thingsboard", formats: ["plain"] }),
    "uplinks[0].profile",
  ],
  [
    "Sparkplug at Azure",
    file({ ...CLOUD, profile: "azure-iot", clientId: "d", formats: ["json", "sparkplug"] }),
    "uplinks[0].formats",
  ],
  [
    "plain values at Azure",
    file({ ...CLOUD, profile: "azure-iot", formats: ["json", "plain"] }),
    "uplinks[0].formats",
  ],
  ["MQTT 5 at Azure", file({ ...CLOUD, profile: "azure-iot", version: 5 }), "uplinks[0].version"],
  [
    "too many slashes for AWS",
    file({ ...CLOUD, profile: "aws-iot", topicPrefix: "a/b/c/d" }),
    "uplinks[0].topics",
  ],
];

for (const [what, written, place] of WRONG)
  test(`platforms: ${what} is one error, with its location`, () => {
    const { uplinks, faults } = load(written);
    assert.equal(uplinks, null);
    const places = new Set(faults.map((fault) => fault.place));
    assert.deepEqual([...places], [`${PATH}: ${place}`], faults.map(faultLine).join("\n"));
  });

test("uplinks file – a shared access key that is no base64 is a fault that does not repeat it", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "gateside-sas-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const keyFile = join(directory, "sas.key");
  const check = (key: string) => {
    writeFileSync(keyFile, `${key}\n`);
    return load(file({ ...CLOUD, profile: "azure-iot", sasKeyFile: keyFile })).faults;
  };
  assert.deepEqual(check("c2VjcmV0LWtleS1vZi1hLWRldmljZQ=="), []);
  for (const key of ["my-secret-key", "SharedAccessKey=c2VjcmV0", "c2VjcmV0LWtle"]) {
    const [fault, ...more] = check(key);
    assert.equal(fault?.place, "/etc/gateside/uplinks.json: uplinks[0].sasKeyFile");
    assert.deepEqual(more, []);
    assert.ok(!faultLine(fault).includes(key));
  }
});

test("platforms – two tenants of one may share a prefix, which means nothing there", () => {
  const tenant = { ...CLOUD, profile: "thingsboard" };
  const { faults, warnings } = load(file(tenant, { ...tenant, name: "b" }));
  assert.deepEqual([faults, warnings], [[], []]);
});
