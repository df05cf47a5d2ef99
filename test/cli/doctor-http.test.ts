import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { checkHttp } from "../../src/cli/doctor-http.ts";
import type { Finding } from "../../src/cli/finding.ts";
import { agentSocketPath } from "../../src/lib/paths.ts";

function place(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), "gateside-doctor-http-"));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const look = async (httpPort: number | null): Promise<Finding | undefined> => {
    const findings: Finding[] = [];
    await checkHttp(
      { dataDir, httpCertFile: null, httpHost: "127.0.0.1", httpPort, httpToken: null },
      (finding) => findings.push(finding),
      new AbortController().signal,
    );
    assert.equal(findings.length, 1);
    return findings[0];
  };
  return { dataDir, look };
}

async function listening(t: TestContext, at: string | number, body = ""): Promise<number> {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(body);
  });
  await new Promise<void>((resolve) => {
    if (typeof at === "string") server.listen(at, resolve);
    else server.listen(at, "127.0.0.1", resolve);
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return typeof at === "string" ? 0 : (server.address() as AddressInfo).port;
}

test("doctor – an HTTP port used by another program is an error that names the setting", async (t) => {
  const { look } = place(t);
  const finding = await look(await listening(t, 0));
  assert.equal(finding?.state, "failed");
  assert.match(finding.detail, /^HTTP_PORT: 127\.0\.0\.1:\d+ is in use by another program/);
});

test("doctor – a port used by the running agent itself is no error; a new port that is taken is", async (t) => {
  const { dataDir, look } = place(t);
  const port = await listening(t, 0);
  const status = {
    http: { address: `http://127.0.0.1:${port}`, lastError: null as string | null },
  };
  const path = agentSocketPath(dataDir);
  assert.ok(path);
  await listening(t, path, JSON.stringify(status));
  assert.equal((await look(port))?.state, "ok");
  rmSync(path);
  status.http.lastError = "HTTP_PORT: taken";
  await listening(t, path, JSON.stringify(status));
  assert.deepEqual(await look(port), { what: "http", state: "failed", detail: "HTTP_PORT: taken" });
});

test("doctor – a free port is reported as free, and off is not tried", async (t) => {
  const { look } = place(t);
  assert.equal((await look(0))?.state, "ok");
  assert.equal((await look(null))?.state, "skipped");
});
