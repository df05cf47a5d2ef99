/** What `deploy/` starts beside collectors. No test runs the compose file: it needs a registry; its parts are held against each other and run here. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Client } from "pg";
import { parse } from "yaml";
import { COMMANDS } from "../../src/cli/commands.ts";
import { parseFlags } from "../../src/cli/parse-flags.ts";
import { migrate } from "../../src/collect/database/migrate.ts";
import { Writer } from "../../src/collect/database/writer.ts";
import { createCollectMetrics } from "../../src/collect/metrics.ts";
import { COLLECT_ENVIRONMENT } from "../../src/config/collect-names.ts";
import { entry, readingPayload } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";

interface Service {
  readonly secrets?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: object;
  readonly volumes?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
}

const compose = parse(readFileSync("deploy/compose/compose.yaml", "utf8"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
};

test("compose – each service has the secrets that its settings read, and the head of the file names every one", () => {
  const text = readFileSync("deploy/compose/compose.yaml", "utf8");
  const head = text.slice(0, text.indexOf("x-collect"));
  for (const { file } of Object.values(compose.secrets)) {
    const name = file.replace("./secrets/", "");
    assert.ok(head.includes(name), `${name} is not explained`);
  }
  for (const [
    name,
    { secrets = [], environment = {}, depends_on = {}, volumes = [] },
  ] of Object.entries(compose.services)) {
    for (const value of Object.values(environment)) {
      const secret = /^\/run\/secrets\/(.+)$/.exec(value)?.[1];
      if (secret !== undefined) assert.ok(secrets.includes(secret), `${name} reads ${secret}`);
    }
    for (const secret of secrets) assert.ok(compose.secrets[secret], `${name}: ${secret}`);
    for (const other of Object.keys(depends_on))
      assert.ok(compose.services[other], `${name} needs ${other}`);
    for (const path of volumes.map((volume) => volume.split(":")[0] ?? ""))
      if (path.startsWith(".") && !path.startsWith("./secrets"))
        assert.ok(existsSync(join("deploy/compose", path)), `${name}: ${path}`);
  }
});

test("compose – collectors are started as both images have the program, with flags and settings that it knows", () => {
  const [node = ""] = compose.services["collect"]?.entrypoint ?? [];
  for (const image of ["Dockerfile", "scripts/container.sh"]) {
    const text = readFileSync(image, "utf8");
    assert.match(text, new RegExp(`"${node}".*"/usr/lib/gateside/launch.js"\\]`));
  }
  const command = COMMANDS.find(({ name }) => name === "collect");
  for (const name of ["migrate", "collect"]) {
    const { entrypoint = [], command: words = [], environment = {} } = compose.services[name] ?? {};
    assert.deepEqual(
      [entrypoint[0], ...entrypoint.slice(2)],
      [node, "/usr/lib/gateside/launch.js", "collect"],
    );
    parseFlags(
      words.map((word) => word.replace(/^\$\{\w+:-(.*)\}$/, "$1")),
      command?.flags ?? [],
    );
    for (const setting of Object.keys(environment))
      assert.ok(COLLECT_ENVIRONMENT.includes(setting));
  }
});

test("compose – the provisioned data sources are of the types that the dashboards ask for", () => {
  const { datasources } = parse(
    readFileSync("deploy/grafana/provisioning/datasources/gateside.yml", "utf8"),
  ) as { datasources: { type: string }[] };
  const given = new Set(datasources.map(({ type }) => type));
  for (const file of readdirSync("deploy/grafana").filter((name) => name.endsWith(".json"))) {
    const { templating } = JSON.parse(readFileSync(join("deploy/grafana", file), "utf8")) as {
      templating: { list: { type: string; query: string }[] };
    };
    for (const { type, query } of templating.list)
      if (type === "datasource") assert.ok(given.has(query), `${file}: ${query}`);
  }
});

test("compose – the roles of the database let a collector write and a dashboard read only", {
  skip: skipWithoutPostgres,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("composed");
  const secrets = mkdtempSync(join(tmpdir(), "gateside-secrets-"));
  t.after(() => rmSync(secrets, { recursive: true }));
  writeFileSync(join(secrets, "collect_database_password"), "it's a secret\n");
  writeFileSync(join(secrets, "grafana_database_password"), "another\n");
  const mounted = readFileSync("deploy/compose/compose.yaml", "utf8");
  assert.match(mounted, /- \.\.\/sql\/rights\.sql:\/rights\.sql:ro/);
  const script = readFileSync("deploy/compose/database/roles.sh", "utf8")
    .replaceAll("/run/secrets", secrets)
    .replace("/rights.sql", resolve("deploy/sql/rights.sql"));
  const { hostname, port } = new URL(url);
  const { status, stderr } = spawnSync("sh", ["-c", script], {
    encoding: "utf8",
    env: {
      ...process.env,
      PGHOST: hostname,
      PGPORT: port,
      POSTGRES_USER: "postgres",
      POSTGRES_DB: "composed",
    },
  });
  assert.equal(status, 0, stderr);
  const owner = new Client({ connectionString: url });
  await owner.connect();
  await migrate(owner);
  await owner.end();
  const as = (role: string) => url.replace("postgres@", `${role}@`);
  const writer = new Writer(as("gateside_collect"));
  t.after(() => writer.close());
  await writer.write([entry("gateside/plant-7/100/rpm", readingPayload(1))]);
  const [row] = await postgres.query<{ count: number }>(
    as("grafana"),
    "SELECT count(*)::integer AS count FROM reading",
  );
  assert.equal(row?.count, 1);
  await assert.rejects(postgres.query(as("grafana"), "DELETE FROM rejected"), /permission denied/);
  assert.deepEqual(await postgres.query(as("grafana"), "SHOW jit"), [{ jit: "off" }]);
  for (const statement of ["SELECT pg_advisory_lock(1)", "CREATE TEMPORARY TABLE mine (a int)"])
    await assert.rejects(postgres.query(as("grafana"), statement), /permission denied/, statement);
  const settings = (file: string) => readFileSync(file, "utf8").match(/^ALTER ROLE .*$/gm);
  assert.deepEqual(settings("deploy/sql/roles.sql"), settings("deploy/compose/database/roles.sh"));
});

test("alert rules – promtool accepts them, and collectors have every metric that theirs name", (t) => {
  const names = new Set(
    createCollectMetrics("x")
      .registry.getMetricsAsArray()
      .map(({ name }) => name),
  );
  const rules = readFileSync("deploy/prometheus/collect-alerts.yml", "utf8");
  for (const [name] of rules.matchAll(/gateside_collect_\w+/g)) assert.ok(names.has(name), name);
  const files = ["deploy/prometheus/collect-alerts.yml", "config/prometheus-alerts.yml"];
  const { error, status, stdout, stderr } = spawnSync("promtool", ["check", "rules", ...files], {
    encoding: "utf8",
  });
  if (error !== undefined) return t.skip("promtool is missing");
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test("Ansible – the role knows every credential of the unit", () => {
  const { gateside_known_credentials: known } = parse(
    readFileSync("deploy/ansible/roles/gateside/vars/main.yml", "utf8"),
  ) as { gateside_known_credentials: string[] };
  const unit = readFileSync("systemd/gateside.service", "utf8");
  const loaded = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, id]) => id);
  assert.deepEqual(known, loaded.sort());
});
