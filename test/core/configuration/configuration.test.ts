import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutSecrets } from "../../../src/core/configuration/configuration.ts";
import type { Uplink } from "../../../src/core/uplink.ts";

test("configuration – an uplink as it is shown holds no secret, not even that of its proxy", () => {
  const uplink = {
    urls: ["wss://broker.example/mqtt?X-Amz-Signature=s3cret"],
    username: "s3cret",
    password: "s3cret",
    sasKey: "s3cret",
    proxy: "http://box:s3cret@proxy.example:3128",
  } as Partial<Uplink> as Uplink;
  const shown = withoutSecrets(uplink);
  assert.doesNotMatch(JSON.stringify(shown), /s3cret/);
  assert.equal(shown.proxy, "http://proxy.example:3128");
});
