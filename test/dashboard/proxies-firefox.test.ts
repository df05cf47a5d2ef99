/** Firefox behind nginx, which asks for a name and a password of its own and passes the person on. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AuditEntry } from "../../src/core/audit.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openFirefox, skipWithoutFirefox } from "../support/firefox.ts";
import { freePort } from "../support/mosquitto.ts";
import { skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { until } from "../support/wait-until.ts";
import { skipWithoutProxies, startNginx } from "../support/web-proxies.ts";

const skip = skipWithoutBuild || skipWithoutFirefox || skipWithoutProxies;
const TOKEN = "a-token-of-the-site";

test("proxies – in Firefox behind nginx the dashboard works below a path, and the audit names the person whom nginx signed in, never one whom the browser claims to be", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const directory = tempDirectory(t);
  const port = await freePort();
  const url = `http://localhost:${port}/box7/`;
  const agentProcess = spawnAgent(
    {
      GATEWAY_URL: "http://127.0.0.1:9",
      MQTT_URL: "mqtt://127.0.0.1:9",
      DATA_DIR: join(directory, "data"),
      SETUP_ENABLED: "true",
      HTTP_PORT: "0",
      HTTP_TOKEN: TOKEN,
      HTTP_PUBLIC_URL: url,
      HTTP_TRUSTED_PROXY: "127.0.0.1",
      HTTP_USER_HEADER: "X-Remote-User",
      DISK_FREE_MIN_MB: "0",
    },
    directory,
  );
  t.after(() => agentProcess.kill());
  const agent = new URL(await agentProcess.address).host;
  const users = join(directory, "users");
  const hash = execFileSync("openssl", ["passwd", "-apr1", "secret"], { encoding: "utf8" });
  writeFileSync(users, `anna:${hash}`);
  const server = `server { listen 127.0.0.1:${port};
    location /box7/ {
      auth_basic "plant"; auth_basic_user_file ${users};
      proxy_pass http://${agent}/; proxy_buffering off;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Remote-User $remote_user;
    } }`;
  await startNginx(t, server, [port]);
  const firefox = await openFirefox(t);
  await firefox.goto(url.replace("http://", "http://anna:secret@"));
  const signIn = async () => {
    await firefox.type("#token", `${TOKEN}\n`);
    await until("live values behind nginx", async () =>
      (await firefox.evaluate("return document.documentElement.dataset.live")) === "live"
        ? true
        : undefined,
    );
  };
  await signIn();
  // The page's own requests work, although browsers refuse those to an address with a name and a password.
  await firefox.evaluate(
    "[...document.querySelectorAll('button')].find((one) => one.textContent === 'Sign out').click()",
  );
  // Firefox remembers the name and the password.
  await until("signed out", async () =>
    (await firefox.evaluate("return document.querySelector('#token') !== null")) ? true : undefined,
  );
  await firefox.goto(url);
  await signIn();
  assert.equal(await firefox.evaluate("return location.pathname"), "/box7/");
  const asked = `return fetch("api/v1/reload", { method: "POST", body: "{}",
    headers: { "content-type": "application/json", "x-remote-user": "somebody-else" } }).then((r) => r.status)`;
  assert.equal(await firefox.evaluate(asked), 200);
  const entries = await firefox.evaluate<{ entries: AuditEntry[] }>(
    `return fetch("api/v1/audit").then((r) => r.json())`,
  );
  const reload = entries.entries.find(({ what }) => what.includes("reload"));
  assert.equal(reload?.person, "anna");
  assert.doesNotMatch(JSON.stringify(entries), /somebody-else/);
});
