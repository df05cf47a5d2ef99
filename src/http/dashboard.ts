import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};
/** The dashboard is one page; a larger file in its directory is not ours. */
const ASSET_BYTES_MAX = 2 * 1024 * 1024;
const ASSETS_MAX = 200;
/** Below this size compression saves nothing that matters. */
const COMPRESS_BYTES_MIN = 512;
/** A content hash in the name: such a file never changes. */
const HASHED_NAME = /[.-][0-9a-zA-Z_]{8,}\.[a-z0-9]+$/;

/** Below the dashboard's directory. */
const MANUAL = "manual/";

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly isImmutable: boolean;
  readonly plain: Buffer;
  readonly gzip: Buffer | null;
  readonly brotli: Buffer | null;
}

/** Serves the built dashboard from memory: a path is looked up in a table and never becomes a file name. */
export function registerDashboard(app: FastifyInstance, directory: string | null): void {
  const names = directory === null ? [] : filesBelow(directory, "");
  const assets = loadAssets(
    directory ?? "",
    names.filter((name) => !name.startsWith(MANUAL)),
  );
  for (const [path, asset] of assets) {
    app.get(path, (request, reply) => sendAsset(request, reply, asset));
  }
  const index = assets.get("/index.html");
  app.get("/", (request, reply) =>
    index !== undefined
      ? sendAsset(request, reply, index)
      : reply
          .type("text/plain; charset=utf-8")
          .send("Gateside is running. This build has no dashboard; see /api/v1/status.\n"),
  );
  registerManual(
    app,
    directory ?? "",
    names.filter((name) => name.startsWith(MANUAL)),
  );
}

/**
 * This version's manual, without sign-in. Read from disk for each request: it is seldom opened, and would take megabytes of memory. Here too
 * a path is looked up in a table and never becomes a file name.
 */
function registerManual(app: FastifyInstance, directory: string, names: readonly string[]): void {
  const known = new Set(names);
  // Relative: a proxy may have put a path in front.
  app.get("/manual", (_request, reply) => reply.redirect("manual/", 308));
  app.get<{ Params: { "*": string } }>("/manual/*", (request, reply) => {
    const name = `${MANUAL}${request.params["*"] || "index.html"}`;
    const asset = known.has(name) ? readAsset(directory, name) : null;
    if (asset === null) return reply.callNotFound();
    // Some names of pages look like hashed ones.
    return sendAsset(request, reply, { ...asset, isImmutable: false });
  });
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  reply
    .header("etag", asset.etag)
    .header("vary", "accept-encoding")
    .header("cache-control", asset.isImmutable ? "max-age=31536000, immutable" : "no-cache");
  if (request.headers["if-none-match"]?.includes(asset.etag)) return reply.code(304).send();
  const accepted = encodingsOf(String(request.headers["accept-encoding"] ?? ""));
  reply.type(asset.type);
  if (asset.brotli !== null && accepted.has("br")) {
    return reply.header("content-encoding", "br").send(asset.brotli);
  }
  if (asset.gzip !== null && accepted.has("gzip")) {
    return reply.header("content-encoding", "gzip").send(asset.gzip);
  }
  return reply.send(asset.plain);
}

/** Those that a client takes: one with `q=0` is refused by name (RFC 9110 12.4.2). */
function encodingsOf(header: string): ReadonlySet<string> {
  const taken = header.split(",").filter((one) => !/;\s*q\s*=\s*0(\.0*)?\s*$/i.test(one));
  return new Set(taken.map((one) => (one.split(";", 1)[0] ?? "").trim().toLowerCase()));
}

/** Files below the directory by their URL paths. */
function loadAssets(directory: string, names: readonly string[]): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of names) {
    if (assets.size >= ASSETS_MAX) break;
    const asset = readAsset(directory, name);
    if (asset !== null) assets.set(`/${name}`, asset);
  }
  return assets;
}

/** Null for a file that is none of ours; `.gz` and `.br` variants made by the build are used as they are. */
function readAsset(directory: string, name: string): Asset | null {
  const type = TYPES[extname(name)];
  const file = join(directory, name);
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? Number.POSITIVE_INFINITY;
  if (type === undefined || size > ASSET_BYTES_MAX) return null;
  const plain = readFileSync(file);
  const isWorthIt = plain.length >= COMPRESS_BYTES_MIN && /text|json|svg|javascript/.test(type);
  return {
    type,
    etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
    isImmutable: HASHED_NAME.test(name),
    plain,
    gzip: isWorthIt ? (twin(`${file}.gz`) ?? gzipSync(plain, { level: 9 })) : null,
    brotli: isWorthIt ? (twin(`${file}.br`) ?? brotli(plain)) : null,
  };
}

function brotli(plain: Buffer): Buffer {
  return brotliCompressSync(plain, {
    params: {
      // 5: nearly the size of 11 at a fraction of the start-up time; the build's own variant is used if there is one.
      [constants.BROTLI_PARAM_QUALITY]: 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    },
  });
}

function twin(file: string): Buffer | null {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file) : null;
}

function filesBelow(directory: string, prefix: string): string[] {
  const names: string[] = [];
  for (const entry of readdirSync(join(directory, prefix), { withFileTypes: true })) {
    const name = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) names.push(...filesBelow(directory, name));
    else if (entry.isFile()) names.push(name);
  }
  return names.sort();
}
