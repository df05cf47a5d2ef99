import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "../../../src/config/fault.ts";
import { addressesOf } from "../../../src/core/addresses/address-list.ts";
import { hideSecrets, secretsIn } from "../../../src/features/setup/hidden-secrets.ts";
import { deadlineMs } from "../../support/deadline.ts";

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

test("hidden secrets – a text of any letters is read in one pass", () => {
  const uplinks = ["/", "//", " ", "//a@", "://", "a", "?", ",", ", ", "@"].map((letters) => ({
    name: "a",
    note: letters.repeat(500_000 / letters.length),
    url: letters.repeat(500_000 / letters.length),
  }));
  const startedAt = performance.now();
  secretsIn({ uplinks }, () => false);
  hideSecrets({ uplinks }, () => false);
  for (const { url } of uplinks) shown(url);
  assert.ok(performance.now() - startedAt < deadlineMs(3_000));
});

test("hidden secrets – user names, passwords and queries of each address of a list are found", () => {
  const url = "mqtts://u:p,w@a:1, wss://b/x?key=k1&t=k2 ,mqtt://x//y:z@c";
  assert.deepEqual(addressesOf(url), [
    "mqtts://u:p,w@a:1",
    "wss://b/x?key=k1&t=k2",
    "mqtt://x//y:z@c",
  ]);
  const hidden = secretsIn({ uplinks: [{ name: "a", note: `${url}\n//l:m@d` }] }, () => false);
  for (const secret of ["u", "p,w", "k1", "z", "l", "m"])
    assert.ok(hidden.includes(secret), secret);
  assert.equal(shown("mqtt://u:p/@q@host and http://x"), '"mqtt://***@host and http://x"');
});
