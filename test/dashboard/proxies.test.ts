import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { createCertificates } from "../support/certificates.ts";
import { deadlineMs } from "../support/deadline.ts";
import { freePort } from "../support/mosquitto.ts";
import { skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { skipWithoutProxies, startHaproxy, startNginx } from "../support/web-proxies.ts";

const skip = skipWithoutBuild || skipWithoutBrowser || skipWithoutProxies;
const TOKEN = "a-token-of-the-site";

/** The ways in which people put a box behind a proxy. `proxy`: which one, and its configuration for a port and the agent. */
interface Form {
  readonly name: string;
  readonly scheme: "http" | "https";
  readonly path: string;
  readonly nginx?: (agent: string) => string;
  readonly haproxy?: string;
  /** The proxy signs everybody in. */
  readonly isOpen?: true;
}

const STREAM = "proxy_buffering off;";
const FORMS: readonly Form[] = [
  {
    name: "own-name",
    scheme: "http",
    path: "/",
    nginx: (agent) =>
      `location / { proxy_pass http://${agent}; proxy_set_header Host $http_host; ${STREAM} }`,
  },
  {
    name: "stripped-host-rewritten",
    scheme: "http",
    path: "/boxes/7/",
    nginx: (agent) => `location /boxes/7/ { proxy_pass http://${agent}/; ${STREAM} }`,
  },
  {
    name: "kept-host-without-port",
    scheme: "http",
    path: "/kept/",
    nginx: (agent) =>
      `location /kept { proxy_pass http://${agent}; proxy_set_header Host $host; ${STREAM} }`,
  },
  {
    name: "kept-host-rewritten",
    scheme: "http",
    path: "/kept/",
    nginx: (agent) => `location /kept/ { proxy_pass http://${agent}; ${STREAM} }`,
  },
  {
    name: "tls-stripped-host-rewritten",
    scheme: "https",
    path: "/box/",
    nginx: (agent) => `location /box/ { proxy_pass http://${agent}/; ${STREAM} }`,
  },
  { name: "tls-host-kept", scheme: "https", path: "/", haproxy: "" },
  {
    name: "haproxy-stripped",
    scheme: "http",
    path: "/h/",
    haproxy: "  http-request replace-path /h/(.*) /\\1",
  },
  {
    name: "haproxy-bearer",
    scheme: "http",
    path: "/",
    haproxy: `  http-request set-header Authorization "Bearer ${TOKEN}"`,
    isOpen: true,
  },
];

test("proxies – the dashboard works behind nginx and haproxy, below a path or not, with the Host kept or rewritten", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const directory = tempDirectory(t);
  const certificates = createCertificates(directory);
  const forms = await Promise.all(
    FORMS.map(async (form) => {
      const port = await freePort();
      const origin = `${form.scheme}://${form.name}.plant.test:${port}`;
      return { ...form, port, origin, url: origin + form.path };
    }),
  );
  const agentProcess = spawnAgent(
    {
      GATEWAY_URL: "http://127.0.0.1:9",
      MQTT_URL: "mqtt://127.0.0.1:9",
      DATA_DIR: join(directory, "data"),
      SETUP_ENABLED: "true",
      HTTP_PORT: "0",
      HTTP_TOKEN: TOKEN,
      HTTP_PUBLIC_URL: forms.map(({ url }) => url).join(", "),
      HTTP_TRUSTED_PROXY: "127.0.0.1",
      DISK_FREE_MIN_MB: "0",
    },
    directory,
  );
  t.after(() => agentProcess.kill());
  const agent = new URL(await agentProcess.address).host;
  const servers = forms.flatMap(({ nginx, port, scheme }) => {
    if (nginx === undefined) return [];
    const pair = `ssl_certificate ${certificates.serverCertFile}; ssl_certificate_key ${certificates.serverKeyFile};`;
    const tls = scheme === "https";
    return `server { listen 127.0.0.1:${port}${tls ? " ssl" : ""}; ${tls ? pair : ""} ${nginx(agent)} }`;
  });
  const sections = forms.flatMap(({ name, haproxy, port, scheme }) =>
    haproxy === undefined
      ? []
      : `listen ${name}\n  bind 127.0.0.1:${port}${scheme === "https" ? " ssl crt site.pem" : ""}\n${haproxy}\n  server box ${agent}`,
  );
  const portsOf = (proxy: "nginx" | "haproxy") =>
    forms.filter((form) => form[proxy] !== undefined).map(({ port }) => port);
  await startNginx(t, servers.join("\n"), portsOf("nginx"));
  await startHaproxy(t, sections.join("\n"), portsOf("haproxy"), certificates);

  const flags = ["--host-resolver-rules=MAP *.plant.test 127.0.0.1"];
  const { context, page, complaints, requests } = await openBrowser(t, { flags, trustsAll: true });
  for (const { name, url, path, isOpen } of forms) {
    const before = requests.length;
    await page.goto(url);
    if (!isOpen) {
      await page.getByLabel("Access token").fill(TOKEN);
      await page.getByLabel("Access token").press("Enter");
    }
    await page.locator("html[data-live=live]").waitFor();
    assert.equal(page.url(), url, name);
    await page.goto(`${url}#/setup`);
    // By name: the page before it has one, too, and signing out would cut off what is still loading.
    await page.getByRole("heading", { level: 1, name: "Set-up" }).waitFor();
    const elsewhere = requests.slice(before).filter((address) => !address.startsWith(url));
    assert.deepEqual(elsewhere, [], name);
    const cookies = await context.cookies(url);
    assert.deepEqual(
      cookies.map((cookie) => [cookie.path, cookie.secure]),
      isOpen ? [] : [[path, url.startsWith("https:")]],
      name,
    );
    if (isOpen) continue;
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Access token").waitFor();
    // Whichever response was first.
    assert.ok([url, `${url}sign-in`].includes(page.url()), page.url());
    await pageUntil("the cookie to go", async () => (await context.cookies(url)).length === 0);
  }
  // The browser itself reports the first page of each, which asks for the token.
  const others = complaints.filter((text) => !/status of 401/.test(text));
  assert.deepEqual(others, []);
  // Links without the slash at the end lead to the page, too.
  const kept = forms.find(({ name }) => name === "kept-host-without-port");
  await page.goto(`${kept?.url.slice(0, -1)}?a=b`);
  assert.equal(page.url(), `${kept?.url}?a=b`);
});
