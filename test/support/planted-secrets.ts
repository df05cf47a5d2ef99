/** An agent in its own directory whose secrets others echo, and a search for them in what it shows. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openAgent } from "../../src/agent/agent.ts";
import { createConfigurationFiles } from "../../src/cli/configuration-files.ts";
import { agentConfiguration } from "./agent-configuration.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** Forms in which a secret may come back. */
export const encodings = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString("base64"),
  Buffer.from(`x${secret}`).toString("base64"),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("hex"),
  secret.slice(0, 11),
];

/** The text around the first eight characters of a secret in any encoding; null where there are none. */
export function leakIn(output: string, secrets: readonly string[]): string | null {
  for (const form of secrets.flatMap(encodings)) {
    const at = output.indexOf(form.slice(0, 8));
    if (at >= 0) return output.slice(Math.max(0, at - 60), at + 60);
  }
  return null;
}

/** An HTTP server on a free port, closed after the test. */
export async function httpPort(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A directory with a site file, removed after the test. */
export function siteDirectory(t: TestContext, sensor: object): string {
  const directory = mkdtempSync(join(tmpdir(), "gateside-secrets-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(
    join(directory, "site.json"),
    JSON.stringify({ site: "plant", sensors: [{ code: "1001", ...sensor }] }),
  );
  return directory;
}

/** Runs an agent in such a directory until `end` or the end of the test. */
export async function plantedAgent(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  directory: string,
) {
  const all = {
    GATEWAY_TIMEZONE: "UTC",
    SITE_FILE: "site.json",
    DATA_DIR: "data",
    HTTP_PORT: "0",
    BACKFILL_DAYS: "0",
    ...env,
  };
  const { configuration, loaded, context } = agentConfiguration(all, directory);
  const logger = new RecordingLogger();
  const files = createConfigurationFiles(context, loaded);
  const agent = await openAgent({ ...configuration, logger, files });
  const stop = new AbortController();
  const running = agent.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  t.after(end);
  /** Responses to GET, by path, and the status. */
  const outputs = async (...paths: readonly string[]): Promise<Record<string, string>> => {
    const texts = await Promise.all(
      paths.map(async (path) => (await fetch(`${agent.address}${path}`)).text()),
    );
    const byPath = Object.fromEntries(paths.map((path, i) => [path, texts[i] ?? ""]));
    return { status: JSON.stringify(agent.status()), ...byPath };
  };
  return { env: all, agent, logger, outputs, end };
}
