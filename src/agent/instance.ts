import { randomBytes } from "node:crypto";
import type { Meta } from "../store/database/meta.ts";

const NAME = "instance";
const BYTES = 6;

/** What tells this agent from another one with the same site name: 12 hex digits, drawn once for a data directory. */
export function instanceOf(meta: Pick<Meta, "get" | "set">): string {
  const known = meta.get(NAME);
  if (known !== null) return known;
  const drawn = randomBytes(BYTES).toString("hex");
  try {
    meta.set(NAME, drawn);
  } catch {
    // A full disk: the next start draws another one.
  }
  return drawn;
}
