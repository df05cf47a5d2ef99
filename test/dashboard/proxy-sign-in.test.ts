/** Behind a proxy that signs people in (single sign-on) and redirects whoever is not, over the built program. */
import { test } from "node:test";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { freePort } from "../support/mosquitto.ts";
import { skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { skipWithoutProxies, startNginx } from "../support/web-proxies.ts";

const TOKEN = "a-token-of-the-site";

test("proxies – once the session of a proxy's sign-in ends, an open page leads there, and is live again after it", {
  skip: skipWithoutBuild || skipWithoutProxies || skipWithoutBrowser,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const directory = tempDirectory(t);
  const [port, ssoPort] = [await freePort(), await freePort()];
  const url = `http://box.plant.test:${port}/box7/`;
  const sso = `http://sso.plant.test:${ssoPort}`;
  const agent = spawnAgent(
    {
      GATEWAY_URL: "http://127.0.0.1:9",
      MQTT_URL: "mqtt://127.0.0.1:9",
      DATA_DIR: `${directory}/data`,
      SETUP_ENABLED: "true",
      HTTP_PORT: "0",
      HTTP_TOKEN: TOKEN,
      HTTP_PUBLIC_URL: url,
      HTTP_TRUSTED_PROXY: "127.0.0.1",
      DISK_FREE_MIN_MB: "0",
    },
    directory,
  );
  t.after(() => agent.kill());
  const { host } = new URL(await agent.address);
  await startNginx(
    t,
    `server { listen 127.0.0.1:${port}; location /box7/ {
  if ($cookie_sso = "") { return 302 ${sso}/; }
  proxy_set_header Authorization "Bearer ${TOKEN}";
  proxy_buffering off;
  proxy_pass http://${host}/; } }
server { listen 127.0.0.1:${ssoPort}; default_type text/html; return 200 "<h1>Company sign-in</h1>"; }`,
    [port, ssoPort],
  );
  const flags = ["--host-resolver-rules=MAP *.plant.test 127.0.0.1"];
  const { context, page } = await openBrowser(t, { flags });
  const signInThere = () => context.addCookies([{ name: "sso", value: "1", url }]);
  await signInThere();
  await page.goto(url);
  const live = page.locator("html[data-live=live]");
  await live.waitFor();

  await context.clearCookies();
  // As a laptop that wakes up.
  await context.setOffline(true);
  await context.setOffline(false);
  await page.getByRole("heading", { name: "Company sign-in" }).waitFor();
  await signInThere();
  await page.goto(url);
  await live.waitFor();
});
