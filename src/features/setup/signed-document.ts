/**
 * A configuration signed elsewhere: `{"payload": "<base64 of JSON>", "signature": "<base64, 64 bytes>"}`, an Ed25519
 * signature over exactly the payload's bytes. The payload is
 * `{"v":1,"site":"plant-7","version":12,"notAfter":"2026-12-01T00:00:00Z","content":{"site":{…},"uplinks":{…}}}`.
 */

import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { sha256 } from "../../core/configuration/configuration-digest.ts";
import { DEPTH_MAX, isDeeper } from "../../core/configuration/depth.ts";
import { parsedObject } from "../../core/parsed-json.ts";
import { isJsonObject } from "../../core/record.ts";

/** The largest packet of a session (1 MB), less its topic and properties: some 2,000 sensors. */
export const DOCUMENT_BYTES_MAX = 1_000_000;
const SIGNATURE_BYTES = 64;
/** Keys in one file: the current one and others for rotation. */
const KEYS_MAX = 10;

export type RefusalReason =
  | "too_large"
  | "too_deep"
  | "not_a_document"
  | "signature"
  | "site"
  | "time"
  | "version"
  | "replayed"
  | "content"
  | "changed_here"
  | "not_writable"
  | "trial_running"
  | "store_held"
  | "clock";

export interface DocumentRefusal {
  readonly reason: RefusalReason;
  /** What was found, and what to do. */
  readonly detail: string;
}

export interface SignedContent {
  /** As in the files; an omitted one stays unchanged. */
  readonly site?: object;
  readonly uplinks?: object;
}

export interface SignedDocument {
  readonly site: string;
  /** Increases with every document of a site. */
  readonly version: number;
  readonly notAfterMs: number;
  readonly content: SignedContent;
  /** SHA-256 of the payload: distinguishes a replayed document from another one of the same version. */
  readonly digest: string;
}

export interface Expectation {
  readonly site: string;
  readonly nowMs: number;
  /** Of the last accepted document, also a failed one; 0 if there was none. */
  readonly version: number;
}

/** Ed25519 public keys of a PEM file. Throws a readable Error for anything else. */
export function readPublicKeys(pem: string): KeyObject[] {
  const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
  if (blocks.length === 0 || blocks.length > KEYS_MAX)
    throw new Error(`contains ${blocks.length} public keys; use one to ${KEYS_MAX} PEM blocks`);
  return blocks.map((block) => {
    const key = createPublicKey(block);
    if (key.asymmetricKeyType !== "ed25519")
      throw new Error(`contains a key of type ${key.asymmetricKeyType}; only Ed25519 is accepted`);
    return key;
  });
}

export function signDocument(
  document: Omit<SignedDocument, "digest">,
  privateKey: KeyObject,
): string {
  const { site, version, notAfterMs, content } = document;
  const notAfter = new Date(notAfterMs).toISOString();
  const payload = Buffer.from(JSON.stringify({ v: 1, site, version, notAfter, content }));
  const signature = sign(null, payload, privateKey);
  return JSON.stringify({
    payload: payload.toString("base64"),
    signature: signature.toString("base64"),
  });
}

/** The signature is checked first: nothing in an unsigned payload is read. */
export function openDocument(
  bytes: Uint8Array,
  keys: readonly KeyObject[],
  expected: Expectation,
): SignedDocument | DocumentRefusal {
  if (bytes.length > DOCUMENT_BYTES_MAX)
    return refuse("too_large", `${bytes.length} bytes; at most ${DOCUMENT_BYTES_MAX} are accepted`);
  const outer = parsedObject(Buffer.from(bytes).toString("utf8"));
  const payload = bytesOf(outer?.["payload"]);
  const signature = bytesOf(outer?.["signature"]);
  if (payload === null || signature === null)
    return refuse("not_a_document", "not a JSON object with payload and signature in base64");
  const isSigned =
    signature.length === SIGNATURE_BYTES &&
    keys.some((key) => verify(null, payload, key, signature));
  if (!isSigned)
    return refuse(
      "signature",
      "the payload is not signed with a key in CONFIG_PUBLIC_KEY_FILE; sign it with the private key that belongs to one of them",
    );
  const inner = parsedObject(payload.toString("utf8"));
  if (isDeeper(inner))
    return refuse("too_deep", `the payload is nested deeper than ${DEPTH_MAX} levels`);
  const document = inner === null ? null : documentOf(inner, sha256(payload.toString("utf8")));
  if (document === null)
    return refuse(
      "not_a_document",
      "the payload must have v 1, site, version (a whole number from 1), notAfter (a time with zone) and content with site, uplinks or both, and nothing else",
    );
  return checked(document, expected);
}

function checked(
  document: SignedDocument,
  expected: Expectation,
): SignedDocument | DocumentRefusal {
  const { site, version, notAfterMs } = document;
  if (site !== expected.site)
    return refuse(
      "site",
      `it is for site ${JSON.stringify(site)}, but this box has site ${JSON.stringify(expected.site)}`,
    );
  if (notAfterMs < expected.nowMs)
    return refuse(
      "time",
      `it expired on ${new Date(notAfterMs).toISOString()}, and the time here is ${new Date(expected.nowMs).toISOString()}; sign it again`,
    );
  if (version <= expected.version)
    return refuse(
      "version",
      `its version is ${version}, but version ${expected.version} was already accepted; sign it with a higher version`,
    );
  return document;
}

function documentOf(inner: Record<string, unknown>, digest: string): SignedDocument | null {
  const { v, site, version, notAfter, content } = inner;
  if (v !== 1 || typeof site !== "string" || typeof version !== "number") return null;
  if (!Number.isSafeInteger(version) || version < 1 || typeof notAfter !== "string") return null;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(notAfter);
  const notAfterMs = Date.parse(notAfter);
  if (!isTime || Number.isNaN(notAfterMs) || !isJsonObject(content)) return null;
  // A misspelt part is not left out of a change in silence.
  const isPart = ([name, part]: [string, unknown]) =>
    (name === "site" || name === "uplinks") && isJsonObject(part);
  const parts = Object.entries(content);
  if (parts.length === 0 || !parts.every(isPart)) return null;
  return { site, version, notAfterMs, content, digest };
}

export function isRefusal(result: SignedDocument | DocumentRefusal): result is DocumentRefusal {
  return "reason" in result;
}

function refuse(reason: RefusalReason, detail: string): DocumentRefusal {
  return { reason, detail };
}

function bytesOf(value: unknown): Buffer | null {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return null;
  return Buffer.from(value, "base64");
}
