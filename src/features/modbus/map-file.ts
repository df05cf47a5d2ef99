import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject } from "../../core/record.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";
import { durableFiles } from "../../lib/durable-file.ts";
import type { SavedBlock } from "./register-map.ts";

const FILE = "modbus-map.json";
/** Layout of the file; a newer one is not read. */
const FORMAT = 1;

export class MapFileFailure extends Error {
  override readonly name = "MapFileFailure";
}

export function mapFilePath(dataDir: string): string {
  return join(dataDir, FILE);
}

/**
 * The blocks as they were assigned before; none if there is no file yet.
 * Throws MapFileFailure if the file cannot be read: assigning addresses again would turn a PLC's values into others.
 */
export function readMapFile(path: string): SavedBlock[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new MapFileFailure(`${path} cannot be read: ${messageOf(error)}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw damaged(path);
  }
  const { format, blocks } = isJsonObject(content) ? content : {};
  if (format !== FORMAT || !Array.isArray(blocks) || !blocks.every(isBlock)) throw damaged(path);
  return blocks;
}

/**
 * Written under another name and renamed, so that a power cut leaves the old one or the new one.
 * Throws MapFileFailure, on a full disk for example.
 */
export function writeMapFile(path: string, blocks: readonly SavedBlock[]): void {
  try {
    durableFiles.write(path, `${JSON.stringify({ format: FORMAT, blocks })}\n`);
  } catch (error) {
    throw new MapFileFailure(`${path} cannot be written: ${messageOf(error)}`);
  }
}

function damaged(path: string): MapFileFailure {
  return new MapFileFailure(
    `${path} is damaged: restore a copy of it, or delete it and import the new map into every PLC`,
  );
}

function isBlock(block: unknown): block is SavedBlock {
  return (
    Array.isArray(block) && block.length === 3 && block.every((part) => typeof part === "string")
  );
}
