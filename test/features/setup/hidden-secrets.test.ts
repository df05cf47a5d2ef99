import assert from "node:assert/strict";
import { test } from "node:test";
import { hideSecrets } from "../../../src/features/setup/hidden-secrets.ts";

test("hidden secrets – a member that is an object or null keeps its content: a restored uplink thins as before", () => {
  const uplink = {
    name: "cloud",
    url: "mqtts://broker.example",
    onChange: { values: { "*_vel_rms": 0.1 }, atLeastEveryS: 3600 },
  };
  assert.deepEqual(
    hideSecrets({ uplinks: [uplink, { ...uplink, onChange: null }] }, () => false),
    {
      uplinks: [uplink, { ...uplink, onChange: null }],
    },
  );
  const unknown = { ...uplink, onChange: { values: {}, key: "sesame" } };
  assert.doesNotMatch(JSON.stringify(hideSecrets({ uplinks: [unknown] }, () => false)), /sesame/);
});
