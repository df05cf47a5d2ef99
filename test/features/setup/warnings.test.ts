import assert from "node:assert/strict";
import { test } from "node:test";
import { setupWarnings } from "../../../src/features/setup/warnings.ts";

const shown = (more: object) =>
  ({
    SITE_FILE: "/nonexistent/site.json",
    UPLINKS_FILE: "",
    DATA_DIR: "/var/lib/gateside",
    SETUP_ENABLED: "false",
    CONFIG_PUBLIC_KEY_FILE: "",
    HTTP_PORT: "8080",
    ...more,
  }) as Parameters<typeof setupWarnings>[0];
const problems = (more: object) => setupWarnings(shown(more)).map(({ problem }) => problem);

test("check – warns where set-up or signed documents are on and the site file cannot be saved", () => {
  assert.deepEqual(problems({}), []);
  assert.match(
    problems({ CONFIG_PUBLIC_KEY_FILE: "/etc/gateside/fleet.pub.pem", HTTP_PORT: "off" }).join(),
    /^CONFIG_PUBLIC_KEY_FILE is set, but \/nonexistent\/site\.json cannot be saved: /,
  );
  assert.match(problems({ SETUP_ENABLED: "true" }).join(), /^SETUP_ENABLED is on, but /);
});

test("check – a site file in a DATA_DIR that the first start will make is no trouble", () => {
  const place = { SITE_FILE: "/nonexistent/box9/site.json", SETUP_ENABLED: "true" };
  assert.deepEqual(problems({ ...place, DATA_DIR: "/nonexistent/box9" }), []);
});
