import assert from "node:assert/strict";
import { test } from "node:test";
import { operationsOf } from "../../../src/agent/features.ts";
import { backupOperations } from "../../../src/features/setup/api-backup.ts";
import type { RestoreRequest } from "../../../src/features/setup/shown.ts";
import { createApp } from "../../../src/http/server.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";

const TOKEN = "an-http-token-of-its-own";
const VIEW_TOKEN = "another-token-to-look-at";

test("backup over HTTP – for HTTP_TOKEN alone and with SETUP_ENABLED; a refusal says why and is a status", async (t) => {
  const asked: RestoreRequest[] = [];
  const backup = {
    backup: () => ({ backup: { gatesideBackup: 1 } }),
    restore: (request: RestoreRequest) => {
      asked.push(request);
      const isOther = request.site === null;
      return Promise.resolve(
        isOther
          ? { outcome: "other_site" as const, detail: "of another site" }
          : { outcome: "unusable" as const, detail: "altered" },
      );
    },
  };
  const parts = testParts();
  const file = { read: () => ({ hash: "0", text: "", content: null, isBlank: true }) };
  const served = (siteFile: typeof file | null) => ({
    ...parts,
    operations: operationsOf([{ serve: backupOperations(backup, siteFile, parts.site) }]),
  });
  const options = { ...OPTIONS, token: TOKEN, viewToken: VIEW_TOKEN };
  const open = createApp(served(file), options);
  const closed = createApp(served(null), options);
  t.after(() => Promise.all([open.close(), closed.close()]));
  const ask = async (app: typeof open, token: string | null, query?: string) => {
    const response = await app.inject({
      method: query === undefined ? "GET" : "POST",
      url: `/api/v1/setup/${query === undefined ? "backup" : `restore${query}`}`,
      headers: {
        host: "localhost",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      // As a client over the network: without an address it would be the socket in DATA_DIR.
      remoteAddress: "192.0.2.7",
      ...(query === undefined ? {} : { payload: { gatesideBackup: 1 } }),
    });
    return response.statusCode;
  };
  assert.equal(await ask(open, TOKEN), 200);
  assert.deepEqual([await ask(open, VIEW_TOKEN), await ask(open, null)], [403, 401]);
  assert.equal(await ask(closed, TOKEN), 403);
  assert.deepEqual([await ask(open, VIEW_TOKEN, ""), await ask(closed, TOKEN, "")], [403, 403]);
  assert.equal(asked.length, 0);
  assert.equal(await ask(open, TOKEN, ""), 409);
  assert.equal(await ask(open, TOKEN, "?site=plant-7&dryRun=true"), 422);
  assert.deepEqual(
    asked.map(({ site, isDryRun }) => [site, isDryRun]),
    [
      [null, false],
      ["plant-7", true],
    ],
  );
});
