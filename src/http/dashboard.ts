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
  const assets = directory === null ? new Map<string, Asset>() : loadAssets(directory);
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
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  reply
    .header("etag", asset.etag)
    .header("vary", "accept-encoding")
    .header("cache-control", asset.isImmutable ? "max-age=31536000, immutable" : "no-cache");
  if (request.headers["if-none-match"]?.includes(asset.etag)) return reply.code(304).send();
  const accepted = String(request.headers["accept-encoding"] ?? "");
  reply.type(asset.type);
  if (asset.brotli !== null && /\bbr\b/.test(accepted)) {
    return reply.header("content-encoding", "br").send(asset.brotli);
  }
  if (asset.gzip !== null && /\bgzip\b/.test(accepted)) {
    return reply.header("content-encoding", "gzip").send(asset.gzip);
  }
  return reply.send(asset.plain);
}

/** Every file below the directory by its URL path; `.gz` and `.br` variants made by the build are used as they are. */
function loadAssets(directory: string): Map<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of filesBelow(directory, "")) {
    const type = TYPES[extname(name)];
    if (type === undefined || assets.size >= ASSETS_MAX) continue;
    const file = join(directory, name);
    if (statSync(file).size > ASSET_BYTES_MAX) continue;
    const plain = readFileSync(file);
    const isWorthIt = plain.length >= COMPRESS_BYTES_MIN && /text|json|svg|javascript/.test(type);
    assets.set(`/${name}`, {
      type,
      etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
      isImmutable: HASHED_NAME.test(name),
      plain,
      gzip: isWorthIt ? (twin(`${file}.gz`) ?? gzipSync(plain, { level: 9 })) : null,
      brotli: isWorthIt ? (twin(`${file}.br`) ?? brotli(plain)) : null,
    });
  }
  return assets;
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
