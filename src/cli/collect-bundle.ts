import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type * as collectBundle from "../collect/main.ts";
import { besideBundle } from "../lib/paths.ts";

type CollectBundle = typeof collectBundle;

/**
 * The receiving end (PostgreSQL, AMQP) is in a bundle of its own, so that the agent is neither larger nor heavier for
 * it. The path is computed here, because the bundler would follow a plain import.
 */
export async function loadCollectBundle(): Promise<CollectBundle> {
  const path = besideBundle("collect.js") ?? resolve("src", "collect", "main.ts");
  const loaded = (await import(pathToFileURL(path).href)) as CollectBundle & {
    readonly default?: CollectBundle;
  };
  return loaded.default ?? loaded;
}
