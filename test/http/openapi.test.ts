import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createApp } from "../../src/http/server.ts";
import { deadlineMs } from "../support/deadline.ts";
import { hasFeature, partsWithFeatures } from "../support/features.ts";
import { agentStatus, OPTIONS, testParts } from "../support/http-parts.ts";
import { morningDay } from "../support/morning.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild, startPlant } from "../support/plant.ts";

type Json = Readonly<Record<string, unknown>>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Json }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
}

/** Members that the document does not name are faults here; to readers of the document they are not. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)]);
  const isOpen = "properties" in schema && !("additionalProperties" in schema);
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) };
}

/** What is wrong with an answer, by the document that the agent itself serves. */
function judge(document: Document) {
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    allErrors: true,
    validateFormats: false,
  });
  ajv.addKeyword("components");
  ajv.addSchema(closed({ $id: "doc", components: document.components }) as Json);
  return (path: string, method: string, status: number, body: unknown): string[] => {
    const answers = document.paths[path]?.[method]?.responses;
    const answer = answers?.[String(status)] as
      | { content?: Record<string, { schema?: object }> }
      | undefined;
    if (answer === undefined)
      return [`${method} ${path} answers ${status}, which is not described`];
    const schema = answer.content?.["application/json"]?.schema;
    if (schema === undefined) return [`${method} ${path} ${status} has no schema`];
    const absolute = JSON.parse(
      JSON.stringify(closed(schema)).replaceAll('"#/', '"doc#/'),
    ) as object;
    const validate = ajv.compile(absolute);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${method} ${path} ${status} ${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}

const ORIGIN = { host: "localhost" };

test("openapi – every reference in the document resolves, and every response has a schema", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const text = (await app.inject({ url: "/api/v1/openapi.json", headers: ORIGIN })).body;
  const document = JSON.parse(text) as Document;
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(document.components.schemas[name ?? ""], `no ${name}`);
  }
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      if (path === "/api/v1/events" || path === "/metrics") continue;
      for (const answer of Object.values(responses)) {
        assert.match(JSON.stringify(answer), /"schema":\{"(\$ref|type)"/, path);
      }
    }
  }
});

test("openapi – every status that an operation refuses with is described where it stands", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const document = (await app.inject({ url: "/api/v1/openapi.json", headers: ORIGIN })).json();
  const statusesOf = (path: string) =>
    Object.values((document as Document).paths[path] ?? {}).flatMap(({ responses }) =>
      Object.keys(responses).map(Number),
    );
  // By the source of each room's operations: its paths, and what its handlers say.
  const files = ["src/http", "src/features"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => join(folder, file)),
  );
  const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
  const pathsIn = (text: string) =>
    [...text.matchAll(/path: "(\/[^"]*)"/g)].map(([, path]) => path ?? "");
  let looked = 0;
  for (const [file, text] of texts) {
    const spec = texts.get(`${dirname(file)}/spec.ts`) ?? "";
    const paths = pathsIn(file.startsWith("src/features") ? `${text}${spec}` : text);
    const known = new Set(paths.flatMap(statusesOf));
    if (known.size === 0 || !/[a-z]Api\(|serve:|serve\(app/.test(text)) continue;
    const said = new Set([
      ...[...text.matchAll(/refuse\(reply[^,]*, (\d{3}),/g)].map(([, status]) => Number(status)),
      ...(text.includes("responses.send(") ? [503] : []),
      ...(text.includes("refuseFaulty(") ? [422] : []),
    ]);
    looked += said.size;
    for (const status of said) assert.ok(known.has(status), `${file} answers ${status}`);
    for (const [, type] of text.matchAll(/\.type\("(application\/x-[^;"]+)/g))
      assert.ok(JSON.stringify(document).includes(`"${type}"`), `${file} answers ${type}`);
  }
  assert.ok(looked > 20, `${looked} statuses`);
  // Every change may find the store held by another program.
  const paths = Object.entries((document as Document).paths);
  for (const [path, methods] of paths.filter(([name]) => /setup\/site$|shelve$|reload$/.test(name)))
    for (const [method, { responses }] of Object.entries(methods))
      assert.equal("503" in responses, method !== "get", `${method} ${path}`);
});

test("openapi – meets public linters: contact, licence, servers, and an operation id, description, tag and error response for each operation", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const document = (await app.inject({ url: "/api/v1/openapi.json", headers: ORIGIN })).json() as {
    info: Json;
    servers: readonly Json[];
    tags: readonly { name: string }[];
    paths: Record<string, Record<string, Json & { tags: string[]; responses: Json }>>;
  };
  for (const member of ["title", "version", "description", "contact", "license"]) {
    assert.ok(document.info[member], member);
  }
  assert.equal(document.servers.length, 1);
  const tags = document.tags.map(({ name }) => name);
  const ids = new Set<unknown>();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (const { path, method, operation } of operations) {
    ids.add(operation["operationId"]);
    assert.ok(operation["summary"] && operation["description"], `${method} ${path}`);
    assert.ok(
      operation.tags.every((tag) => tags.includes(tag)),
      `${method} ${path}`,
    );
    const statuses = Object.keys(operation.responses);
    assert.ok(
      statuses.some((status) => status.startsWith("4")) &&
        statuses.some((status) => status.startsWith("2")),
      `${method} ${path}: ${statuses}`,
    );
  }
  assert.equal(ids.size, operations.length);
});

test("openapi – errors and unhealthy states match the described schemas", async (t) => {
  const parts = testParts({ backfill: null });
  parts.setHealth([{ name: "database", isWell: false, detail: "the disk is full" }]);
  const status = agentStatus();
  parts.setStatus({ ...status, gateway: { ...status.gateway, isUp: false, lastError: "gone" } });
  const shown = await partsWithFeatures(parts, { ALARMS_ENABLED: "false" });
  const app = createApp(shown, { ...OPTIONS, token: "a-token" });
  t.after(() => app.close());
  const headers = { ...ORIGIN, authorization: "Bearer a-token" };
  const document = (await app.inject({ url: "/api/v1/openapi.json", headers })).json() as Document;
  const judged = judge(document);
  const days = { from: "2026-11-01", to: "2026-11-02" };
  const cases: [number, string, string, object?][] = [
    [503, "/healthz", "/healthz"],
    [503, "/readyz", "/readyz"],
    [401, "/readyz", "/readyz"],
    [401, "/api/v1/status", "/api/v1/status"],
    [200, "/api/v1/faults", "/api/v1/faults"],
    [200, "/api/v1/backfill", "/api/v1/backfill"],
    [400, "/api/v1/gaps", "/api/v1/gaps?limit=0"],
    [400, "/api/v1/readings", "/api/v1/readings?sensor=1&kind=none"],
    [400, "/api/v1/trend", "/api/v1/trend?sensor=1&kind=rpm&form=1"],
    [404, "/api/v1/sensors/{code}", "/api/v1/sensors/nobody"],
    [404, "/api/v1/waveform/{fileId}", "/api/v1/waveform/7"],
    [404, "/api/v1/spectrum/{fileId}", "/api/v1/spectrum/7"],
    [400, "/api/v1/spectrum/{fileId}", "/api/v1/spectrum/7?unit=9"],
    [501, "/api/v1/backfill", "/api/v1/backfill", days],
    [400, "/api/v1/backfill", "/api/v1/backfill", { ...days, sensors: "1" }],
  ];
  if (hasFeature("condition"))
    cases.push(
      [200, "/api/v1/machines", "/api/v1/machines?sort=worst"],
      [400, "/api/v1/machines", "/api/v1/machines?sort=best"],
      [501, "/api/v1/machines", "/api/v1/machines"],
    );
  for (const [expected, path, url, payload] of cases) {
    const method = payload === undefined ? ("GET" as const) : ("POST" as const);
    const answer = await app.inject({
      method,
      url,
      headers: expected === 401 ? ORIGIN : headers,
      ...(payload !== undefined && { payload }),
    });
    assert.equal(answer.statusCode, expected, `${method} ${url}: ${answer.body}`);
    assert.deepEqual(judged(path, method.toLowerCase(), expected, answer.json()), []);
  }
});

test("openapi – responses of a running agent match the schemas in its own document", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 7, historyDays: 1 },
    env: { PUBLISH_FORMATS: "json,sparkplug" },
  });
  const subscriber = await plant.subscribe();
  const address = await plant.startAgent().address;
  await subscriber.waitFor(({ topic }) => topic.endsWith("/100200300/accel"), 20_000);
  await subscriber.waitFor(({ topic }) => topic.endsWith("/100200374/loop"), 20_000);
  const get = async (path: string) => {
    const answer = await fetch(address + path);
    return { status: answer.status, body: (await answer.json()) as Record<string, never> };
  };
  const { body: document } = await get("/api/v1/openapi.json");
  const judged = judge(document as unknown as Document);
  const list = await get("/api/v1/waveforms?sensor=100200300");
  const fileId = (list.body["waveforms"] as { channels: { fileId: number }[] }[] | undefined)?.[0]
    ?.channels[0]?.fileId;
  assert.ok(fileId, "no waveform stored");
  const asked: [string, string][] = [
    ["/healthz", "/healthz"],
    ["/readyz", "/readyz"],
    ["/api/v1/status", "/api/v1/status"],
    ["/api/v1/faults", "/api/v1/faults"],
    ["/api/v1/gaps", "/api/v1/gaps?limit=5"],
    ["/api/v1/sensors", "/api/v1/sensors?limit=3"],
    ["/api/v1/machines", "/api/v1/machines?sort=worst"],
    ["/api/v1/sensors", "/api/v1/sensors?q=pump&state=online"],
    ["/api/v1/sensors/{code}", "/api/v1/sensors/100200300"],
    ["/api/v1/readings", "/api/v1/readings?sensor=100200374&kind=loop&limit=2"],
    ["/api/v1/readings", "/api/v1/readings?sensor=100200300&kind=accel"],
    ["/api/v1/trend", "/api/v1/trend?sensor=100200374&kind=loop&buckets=10"],
    ["/api/v1/waveforms", "/api/v1/waveforms?sensor=100200300"],
    ["/api/v1/waveform/{fileId}", `/api/v1/waveform/${fileId}?unit=2`],
    ["/api/v1/spectrum/{fileId}", `/api/v1/spectrum/${fileId}?unit=6`],
    ["/api/v1/backfill", "/api/v1/backfill"],
  ];
  for (const [path, url] of asked) {
    const { status, body } = await get(url);
    const isReady = path !== "/readyz" || status === 503;
    assert.ok(status === 200 || isReady, `${url}: ${status}`);
    assert.deepEqual(judged(path, "get", status, body), []);
  }
  const day = morningDay();
  const post = (path: string, body: object) =>
    fetch(address + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const started = await post("/api/v1/backfill", { from: day, to: day, sensor: null });
  assert.deepEqual(judged("/api/v1/backfill", "post", started.status, await started.json()), []);
  assert.equal(started.status, 202);
});

test("openapi – every operation has a unique id and a server, and documents that wrong tokens are rate-limited", async (t) => {
  const app = createApp(testParts(), OPTIONS);
  t.after(() => app.close());
  const document = (await app.inject({ url: "/api/v1/openapi.json", headers: ORIGIN })).json() as {
    servers: { url: string }[];
    paths: Record<string, Record<string, Json & { parameters: Json[]; responses: Json }>>;
  };
  assert.deepEqual(
    document.servers.map(({ url }) => url),
    ["/"],
  );
  const ids: unknown[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const operation of Object.values(methods)) {
      ids.push(operation["operationId"]);
      assert.match(String(operation["operationId"]), /^[a-z][A-Za-z0-9]+$/);
      if (path !== "/healthz") assert.ok(operation.responses["429"], path);
      // Each name in the path is a required parameter.
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
      const given = operation.parameters.filter((one) => one["in"] === "path");
      assert.deepEqual(given.map((one) => one["name"]).sort(), named, path);
      assert.ok(given.every((one) => one["required"] === true));
    }
  }
  assert.equal(new Set(ids).size, ids.length);
});
