import assert from "node:assert/strict";
import { test } from "node:test";
import { faultLine } from "../../src/config/fault.ts";
import { FORMATS } from "../../src/config/formats.ts";
import { BUILT_PROFILES } from "../../src/config/profiles.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { loadUplinks } from "../../src/config/uplinks.ts";
import { PROFILES, UPLINK_FORMATS } from "../../src/core/uplink.ts";

const SITE = { site: "plant-7", sensors: [] };
const CONTEXT = { site: SITE, main: null, commandsEnabled: false };

for (const format of UPLINK_FORMATS)
  test(`formats – ${format} is used where it is built in, and an unknown value where it is not`, () => {
    const isBuiltIn = FORMATS.includes(format);
    const text = JSON.stringify({
      uplinks: [{ name: "one", url: "mqtt://broker.example", formats: [format] }],
    });
    const { uplinks, faults } = loadUplinks(text, "/uplinks.json", CONTEXT);
    const [uplink] = uplinks ?? [];
    assert.deepEqual(
      faults.map(faultLine),
      isBuiltIn
        ? []
        : [
            `/uplinks.json: uplinks[0].formats: "${format}" is not built into this agent; use one or more of ${FORMATS.join(", ")}`,
          ],
    );
    assert.equal(uplink?.formats[0], isBuiltIn ? format : undefined);
    const { settings } = loadSettings(
      { GATEWAY_URL: "http://gateway", MQTT_URL: "mqtt://broker", PUBLISH_FORMATS: format },
      { cwd: "/nonexistent" },
    );
    assert.deepEqual(settings?.publishFormats, isBuiltIn ? [format] : undefined);
  });

for (const profile of PROFILES)
  test(`profiles – ${profile} is used where it is built in, and an unknown value where it is not`, () => {
    const uplink = { name: "one", url: "mqtt://broker.example", profile };
    const { faults } = loadUplinks(JSON.stringify({ uplinks: [uplink] }), "/uplinks.json", CONTEXT);
    assert.deepEqual(
      faults.map(faultLine),
      BUILT_PROFILES.includes(profile)
        ? []
        : [
            `/uplinks.json: uplinks[0].profile: "${profile}" is not built into this agent; use one of ${BUILT_PROFILES.join(", ")}`,
          ],
    );
  });
