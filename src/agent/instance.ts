import { randomBytes } from "node:crypto";
import type { Meta } from "../pipeline/store/database/meta.ts";

/** Its name among the small values of the store. */
export const INSTANCE = "instance";
const BYTES = 6;

/** What tells this agent from another one with the same site name: 12 hex digits, drawn once for a data directory. */
export function instanceOf(meta: Pick<Meta, "get" | "keep">): string {
  const known = meta.get(INSTANCE);
  if (known !== null) return known;
  const drawn = randomBytes(BYTES).toString("hex");
  // On a full disk the next start draws another one.
  meta.keep(INSTANCE, drawn).catch(() => {});
  return drawn;
}

/** What tells two processes of one data directory apart, as of a copied card: 8 hex digits, drawn at each start and never stored. */
export const newRun = (): string => randomBytes(4).toString("hex");
