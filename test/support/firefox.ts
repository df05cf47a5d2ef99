/** Firefox by its own remote protocol, Marionette: playwright drives only its own builds. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import type { TestContext } from "node:test";
import { until } from "./wait-until.ts";

const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));

/** What to give node:test as `skip`. */
export const skipWithoutFirefox: string | false =
  FIREFOX === undefined ? "firefox is not installed" : false;

/** A port of its own choice, and nothing that Firefox does by itself. */
const PREFERENCES = {
  "marionette.port": 0,
  "app.normandy.enabled": false,
  "app.update.enabled": false,
  "browser.aboutwelcome.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.server": "",
};

export interface Firefox {
  goto(url: string): Promise<void>;
  /** Types into the element that a CSS selector finds; "\n" is Enter. Waits for the element. */
  type(selector: string, text: string): Promise<void>;
  /** What the body of a function returns in the page. */
  evaluate<T>(body: string): Promise<T>;
}

/** Firefox listens where it runs, which may be another network namespace. */
const RELAY = `const s = require("node:net").connect(+process.argv[1], "127.0.0.1"); process.stdin.pipe(s).pipe(process.stdout)`;

/** Gone when the test ends. `program` starts it, by default the installed one; `prefix` runs a command where it does. */
export async function openFirefox(
  t: TestContext,
  program = FIREFOX,
  prefix: readonly string[] = [],
): Promise<Firefox> {
  const profile = mkdtempSync(join(tmpdir(), "gateside-firefox-"));
  const lines = Object.entries(PREFERENCES).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  writeFileSync(join(profile, "user.js"), lines.join(""));
  const args = ["--marionette", "--headless", "--no-remote", "--profile", profile];
  const child = spawn(program ?? "firefox", args, {
    stdio: "ignore",
    detached: true,
    // It never starts with libfaketime: its allocator reads the clock, for which that library allocates.
    env: { ...process.env, HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1", LD_PRELOAD: "" },
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  t.after(async () => {
    // The whole group: a wrapper, the browser and its content processes.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  });
  const portFile = join(profile, "MarionetteActivePort");
  const port = await until("Firefox's port", () =>
    existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) || undefined : undefined,
  );
  const [command, ...rest] = [...prefix, process.execPath, "-e", RELAY, String(port)];
  const relay = spawn(command as string, rest, { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => relay.kill());
  const send = marionette(Duplex.from({ readable: relay.stdout, writable: relay.stdin }));
  await send("WebDriver:NewSession", { acceptInsecureCerts: true });
  const evaluate = async <T>(body: string): Promise<T> =>
    ((await send("WebDriver:ExecuteScript", { script: body, args: [] })) as { value: T }).value;
  return {
    goto: async (url) => void (await send("WebDriver:Navigate", { url })),
    async type(selector, text) {
      await until(`${selector} in Firefox`, async () =>
        (await evaluate(`return document.querySelector(${JSON.stringify(selector)}) !== null`))
          ? true
          : undefined,
      );
      const found = await send("WebDriver:FindElement", { using: "css selector", value: selector });
      const [id] = Object.values((found as { value: Record<string, string> }).value);
      // Enter is a character of WebDriver's own.
      await send("WebDriver:ElementSendKeys", { id, text: text.replaceAll("\n", "\uE007") });
    },
    evaluate,
  };
}

type Response = [
  type: 1,
  id: number,
  error: { error: string; message: string } | null,
  result: unknown,
];

/** Messages are `length:JSON`; the first one greets. */
function marionette(socket: Duplex): (command: string, parameters: object) => Promise<unknown> {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let received = Buffer.alloc(0);
  let sent = 0;
  const take = (text: string): void => {
    const message: unknown = JSON.parse(text);
    if (!Array.isArray(message)) return;
    const [, id, error, result] = message as Response;
    const asker = waiting.get(id);
    waiting.delete(id);
    if (error === null) asker?.resolve(result);
    else asker?.reject(new Error(`${error.error}: ${error.message}`));
  };
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const colon = received.indexOf(":");
      const end = colon + 1 + Number(received.subarray(0, Math.max(0, colon)));
      if (colon < 0 || received.length < end) return;
      take(received.toString("utf8", colon + 1, end));
      received = received.subarray(end);
    }
  });
  const lost = (error?: Error) => {
    for (const { reject } of waiting.values()) reject(error ?? new Error("Firefox has ended"));
  };
  socket.on("error", lost);
  socket.on("close", () => lost());
  return (command, parameters) =>
    new Promise((resolve, reject) => {
      sent += 1;
      waiting.set(sent, { resolve, reject });
      const text = JSON.stringify([0, sent, command, parameters]);
      socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
}
