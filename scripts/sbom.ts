/**
 * Bill of materials of a package (CycloneDX 1.6, JSON): what is bundled, as reported by the bundler, with version, licence and digest
 * from the lock file; the SQLite inside the native module; and the Node runtime with the libraries inside it. The same sources give the
 * same bytes.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** An entry of package-lock.json. */
export interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}
export type LockPackages = Readonly<Record<string, LockEntry>>;

export interface Component {
  readonly type: "application" | "library" | "platform";
  readonly "bom-ref": string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly { readonly alg: "SHA-512"; readonly content: string }[];
  readonly licenses?: readonly object[];
  readonly purl: string;
  /** By which scanners find vulnerabilities of what is no npm package. */
  readonly cpe?: string;
  readonly components?: readonly Component[];
}

export interface Sbom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.6";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** The bundled packages and their dependencies among each other. Throws if one, or its digest, is missing from the lock file. */
export function bundledComponents(
  folders: readonly string[],
  lock: LockPackages,
): Pick<Sbom, "components" | "dependencies"> {
  const refs = new Map(folders.map((folder) => [folder, purlOf(folder, lock)]));
  // The same version of a package may be in several folders.
  const components = new Map<string, Component>();
  const needs = new Map<string, Set<string>>();
  for (const [folder, ref] of refs) {
    components.set(ref, componentOf(folder, lock));
    const needed = needs.get(ref) ?? new Set();
    for (const name of Object.keys(lock[folder]?.dependencies ?? {})) {
      const found = refs.get(resolved(folder, name, lock) ?? "");
      if (found !== undefined) needed.add(found);
    }
    needs.set(ref, needed);
  }
  return {
    components: [...components.values()],
    dependencies: [...needs].map(([ref, needed]) => ({ ref, dependsOn: [...needed].sort() })),
  };
}

function componentOf(folder: string, lock: LockPackages): Component {
  const { version = "", license, integrity } = lock[folder] ?? {};
  const digest = /^sha512-(\S+)$/.exec(integrity ?? "")?.[1];
  if (digest === undefined) throw new Error(`${folder}: the lock file has no digest of it`);
  const purl = purlOf(folder, lock);
  const [name = "", group] = nameOf(folder).split("/").reverse();
  return {
    type: "library",
    "bom-ref": purl,
    ...(group === undefined ? {} : { group }),
    name,
    version,
    hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }],
    ...(license === undefined ? {} : { licenses: [licence(license)] }),
    purl,
    ...(name === "better-sqlite3" ? { components: [sqlite(folder)] } : {}),
  };
}

const licence = (text: string) =>
  /[\s()]/.test(text)
    ? { expression: text.replace(/^\((.*)\)$/, "$1") }
    : { license: { id: text } };

const nameOf = (folder: string) => folder.slice(folder.lastIndexOf("node_modules/") + 13);

function purlOf(folder: string, lock: LockPackages): string {
  const version = lock[folder]?.version;
  if (version === undefined) throw new Error(`${folder}: not in the lock file`);
  return `pkg:npm/${nameOf(folder).replace("@", "%40")}@${version}`;
}

/** The folder that `require(name)` resolves to from `folder`, as in Node: its own node_modules, then those above. */
function resolved(folder: string, name: string, lock: LockPackages): string | undefined {
  for (let above = folder; above !== ""; ) {
    const found = `${above}/node_modules/${name}`;
    if (lock[found] !== undefined) return found;
    above = above.slice(0, Math.max(0, above.lastIndexOf("/node_modules/")));
  }
  return lock[`node_modules/${name}`] === undefined ? undefined : `node_modules/${name}`;
}

function sqlite(folder: string): Component {
  const version = numberIn(join(folder, "deps/sqlite3/sqlite3.h"), /SQLITE_VERSION\s+"([^"]+)"/);
  return part("sqlite", version, "blessing", "sqlite");
}

/** The runtime as packaged, and the libraries in it that get security fixes of their own. */
export function nodeComponent(
  node: string,
  nodeVersion: string,
  npmName: string,
  integrity: string,
  others: Readonly<Record<string, string>>,
): Component {
  const header = (path: string, pattern: RegExp) =>
    numberIn(join(node, "include/node", path), pattern);
  // Each architecture has its own; they are all alike.
  const openssl = header(
    "openssl/archs/linux-x86_64/asm/include/openssl/opensslv.h",
    /OPENSSL_VERSION_STR\s+"([^"]+)"/,
  );
  const zlib = header("zlib.h", /ZLIB_VERSION\s+"([^"]+)"/);
  const v8 = ["MAJOR_VERSION", "MINOR_VERSION", "BUILD_NUMBER", "PATCH_LEVEL"]
    .map((name) => header("v8-version.h", new RegExp(`V8_${name}\\s+(\\d+)`)))
    .join(".");
  const uv = ["MAJOR", "MINOR", "PATCH"]
    .map((name) => header("uv/version.h", new RegExp(`UV_VERSION_${name}\\s+(\\d+)`)))
    .join(".");
  const purl = `pkg:npm/${npmName}@${nodeVersion}`;
  const digest = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  return {
    type: "platform",
    "bom-ref": purl,
    name: "node",
    version: nodeVersion,
    hashes: [{ alg: "SHA-512", content: digest }],
    licenses: [{ license: { id: "MIT" } }],
    purl,
    cpe: cpeOf("nodejs", "node.js", nodeVersion),
    components: [
      part("libuv", uv, "MIT", "libuv"),
      part("openssl", openssl, "Apache-2.0", "openssl"),
      part("v8", v8, "BSD-3-Clause", "google"),
      part("zlib", zlib, "Zlib", "zlib"),
      ...Object.entries(others).map(([name, version]) => partOfNode(name, version)),
    ],
  };
}

interface PartOfNode {
  readonly licence: string;
  /** Where its name in `process.versions` is not its own. */
  readonly name?: string;
  /** As the National Vulnerability Database names it; absent if that knows none. */
  readonly cpe?: readonly [vendor: string, product: string];
  readonly isNpm?: true;
}

/** By their names in `process.versions`. */
const PARTS_OF_NODE: Readonly<Record<string, PartOfNode>> = {
  acorn: { licence: "MIT", isNpm: true },
  ada: { licence: "MIT OR Apache-2.0" },
  amaro: { licence: "MIT", isNpm: true },
  ares: { licence: "MIT", name: "c-ares", cpe: ["c-ares", "c-ares"] },
  brotli: { licence: "MIT", cpe: ["google", "brotli"] },
  icu: { licence: "Unicode-3.0", cpe: ["icu-project", "international_components_for_unicode"] },
  llhttp: { licence: "MIT", cpe: ["llhttp", "llhttp"], isNpm: true },
  merve: { licence: "MIT" },
  nbytes: { licence: "MIT" },
  ncrypto: { licence: "MIT" },
  nghttp2: { licence: "MIT", cpe: ["nghttp2", "nghttp2"] },
  simdjson: { licence: "Apache-2.0" },
  simdutf: { licence: "MIT OR Apache-2.0" },
  sqlite: { licence: "blessing", cpe: ["sqlite", "sqlite"] },
  undici: { licence: "MIT", cpe: ["nodejs", "undici"], isNpm: true },
  uvwasi: { licence: "MIT" },
  zstd: { licence: "BSD-3-Clause", cpe: ["facebook", "zstandard"] },
};

function partOfNode(key: string, version: string): Component {
  const known = PARTS_OF_NODE[key];
  if (known === undefined) throw new Error(`${key}: a part of Node of which no licence is known`);
  const { licence: text, name = key, cpe, isNpm } = known;
  const purl = `pkg:${isNpm ? "npm" : "generic"}/${name}@${version}`;
  return {
    type: "library",
    // The bundle may hold the same library.
    "bom-ref": `node:${purl}`,
    name,
    version,
    licenses: [licence(text)],
    purl,
    ...(cpe === undefined ? {} : { cpe: cpeOf(cpe[0], cpe[1], version) }),
  };
}

/** @param vendor as the National Vulnerability Database names it */
function part(name: string, version: string, id: string, vendor: string): Component {
  const purl = `pkg:generic/${name}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    licenses: [{ license: { id } }],
    purl,
    cpe: cpeOf(vendor, name, version),
  };
}

/** CPE 2.3; a suffix such as OpenSSL's `+quic` is no part of the version there. */
function cpeOf(vendor: string, product: string, version: string): string {
  return `cpe:2.3:a:${vendor}:${product}:${version.replace(/\+.*/, "")}:*:*:*:*:*:*:*`;
}

function numberIn(path: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(path, "utf8"))?.[1];
  if (found === undefined) throw new Error(`${path}: no ${pattern.source}`);
  return found;
}

/** The whole document. `epochS` is its timestamp, s since 1970. */
export function sbomOf(
  product: { readonly version: string; readonly epochS: number; readonly purl: string },
  bundled: Pick<Sbom, "components" | "dependencies">,
  others: readonly Component[],
): Sbom {
  const components = [...bundled.components, ...others];
  const own: Component = {
    type: "application",
    "bom-ref": product.purl,
    name: "gateside",
    version: product.version,
    licenses: [{ license: { id: "Apache-2.0" } }],
    purl: product.purl,
  };
  const dependencies = [
    { ref: product.purl, dependsOn: components.map((component) => component["bom-ref"]) },
    ...bundled.dependencies,
  ];
  const content = JSON.stringify([own, components, dependencies]);
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(content)}`,
    version: 1,
    metadata: { timestamp: new Date(product.epochS * 1000).toISOString(), component: own },
    components,
    dependencies,
  };
}

/** A UUID (version 8) derived from the content alone. */
function uuidOf(content: string): string {
  const hex = createHash("sha256").update(content).digest("hex");
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
