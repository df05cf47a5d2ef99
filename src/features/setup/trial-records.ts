/**
 * The two records of a trial as text on disk. Each carries a digest of itself: no bit that the disk lost makes another
 * configuration of the one that is restored, or another version of the one that was accepted last.
 */

import { sha256 } from "../../core/configuration/configuration-digest.ts";
import type { ConfigurationTexts } from "../../core/configuration/configuration-files.ts";
import { parsedObject } from "../../core/parsed-json.ts";
import { isJsonObject, type JsonObject } from "../../core/record.ts";

/** Where the response to a document goes. */
export interface ReplyTo {
  /** Of the uplink that the document came through. */
  readonly uplink: string;
  /** Its addresses: another broker's clients get no response at a topic that was named here. */
  readonly broker: string;
  readonly responseTopic: string | null;
  /** Base64. */
  readonly correlation: string | null;
}

export interface Trial {
  readonly version: number;
  readonly digest: string;
  readonly before: ConfigurationTexts;
  readonly after: ConfigurationTexts;
  readonly startedAtMs: number;
  readonly reply: ReplyTo;
  /** A restored backup: it has no version, and leaves what is known of documents as it is. */
  readonly isRestore?: boolean;
}

/** How the trial of an accepted document ended. */
export interface Ending {
  /** `superseded`: somebody changed a file on the box meanwhile. */
  readonly outcome: "applied" | "rolled_back" | "superseded";
  readonly reason: "trial" | "changed_here" | null;
  readonly detail: string;
}

/** The result of the last document that was accepted. */
export interface Accepted extends Ending {
  readonly version: number;
  readonly digest: string;
  readonly atMs: number;
  readonly reply: ReplyTo;
  readonly isRestore?: boolean;
}

export function sealed(record: Trial | Accepted): string {
  return JSON.stringify({ ...record, sha256: sha256(JSON.stringify(record)) });
}

/** Null for what is no trial, or damaged. */
export function trialOf(text: string | null): Trial | null {
  const record = opened<Trial>(text);
  if (record === null || !isOfDocument(record) || !isReply(record["reply"])) return null;
  const isWhole = [record["before"], record["after"]].every(
    (texts) => isJsonObject(texts) && isTextOrNull(texts["site"]) && isTextOrNull(texts["uplinks"]),
  );
  return isWhole ? record : null;
}

/** Null for what is no result of a document, or damaged. */
export function acceptedOf(text: string | null): Accepted | null {
  const record = opened<Accepted>(text);
  if (record === null || !isOfDocument(record)) return null;
  return typeof record["outcome"] === "string" && typeof record["detail"] === "string"
    ? record
    : null;
}

/** One of an earlier release has no digest. */
function opened<T>(text: string | null): (T & JsonObject) | null {
  const whole = parsedObject(text ?? "null");
  if (whole === null) return null;
  const { sha256: digest, ...record } = whole;
  if (digest !== undefined && digest !== sha256(JSON.stringify(record))) return null;
  return record as T & JsonObject;
}

function isOfDocument({ version, digest }: JsonObject): boolean {
  return Number.isSafeInteger(version) && typeof digest === "string";
}

function isReply(reply: unknown): boolean {
  return (
    isJsonObject(reply) &&
    typeof reply["uplink"] === "string" &&
    typeof reply["broker"] === "string" &&
    isTextOrNull(reply["responseTopic"]) &&
    isTextOrNull(reply["correlation"])
  );
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}
