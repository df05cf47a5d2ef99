import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as collectBundle from "../collect/main.ts";
import { loadBesideBundle } from "../lib/paths.ts";

type CollectBundle = typeof collectBundle;

/** Code of an error of the bundle: the database has to be chosen or set otherwise. Its classes are not ours. */
export const UNFIT = "database_unfit";

/**
 * The receiving end (PostgreSQL, AMQP) is in its own bundle, so that the agent is neither larger nor heavier for
 * it. The source's path is computed here, because the bundler would follow a plain import.
 */
export async function loadCollectBundle(): Promise<CollectBundle> {
  const bundle = loadBesideBundle("collect.js");
  if (bundle !== null) return bundle as CollectBundle;
  const source = resolve("src", "collect", "main.ts");
  return await import(pathToFileURL(source).href);
}
