import assert from "node:assert/strict";
import { test } from "node:test";
import { ownAddress } from "../../../src/core/addresses/own-address.ts";

test("own address – client ids that differ little spread evenly over the addresses of a cluster", () => {
  for (const count of [2, 3, 5]) {
    const clients = Array.from({ length: 3000 }, (_, i) =>
      ownAddress(`gateside-plant-${i}`, count),
    );
    for (let address = 0; address < count; address++) {
      const share = clients.filter((one) => one === address).length / clients.length;
      assert.ok(Math.abs(share * count - 1) < 0.15, `${share} of ${count}`);
    }
  }
});
