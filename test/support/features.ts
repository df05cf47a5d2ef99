/** The features over the parts of HTTP, for tests that need one: it is asked of the list, never imported. */
import assert from "node:assert/strict";
import { withFeatures } from "../../src/agent/features.ts";
import { bindSite, loadSettings } from "../../src/config/settings.ts";
import { createFeatures } from "../../src/features/all.ts";
import type { FeatureSpec } from "../../src/features/feature.ts";
import type { FeatureHost } from "../../src/features/host.ts";
import { SPECS } from "../../src/features/specs.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { SecretGate } from "../../src/lib/secrets.ts";
import type { Store } from "../../src/pipeline/store/store.ts";
import { OPTIONS } from "./http-parts.ts";

const ENVIRONMENT = { GATEWAY_URL: "http://gateway.example", MQTT_URL: "mqtt://broker.example" };

/** Whether it is built in: a test elsewhere may need one that was taken out. */
export const hasFeature = (wanted: string): boolean =>
  SPECS.some(({ name }: FeatureSpec) => name === wanted);

export async function partsWithFeatures(
  parts: HttpParts,
  environment: Readonly<Record<string, string>> = {},
  store: Partial<Pick<Store, "history" | "keeping" | "tables">> = {},
): Promise<HttpParts> {
  const given = { ...ENVIRONMENT, ...environment };
  const { settings } = loadSettings(given, { cwd: "/nonexistent" });
  assert.ok(settings);
  const memory = {
    get: () => null,
    set: () => {},
    keep: () => Promise.resolve(),
    setAll: () => {},
    secure: () => {},
    names: () => [],
  };
  const newest = { of: () => null };
  // For parts without a store.
  const without = {
    counting: null,
    isClockConfirmed: () => true,
    pendingDays: () => [],
    failures: {} as FeatureHost["failures"],
    gateway: {} as FeatureHost["gateway"],
    names: OPTIONS.names,
    hasReadAll: () => false,
    gate: new SecretGate([]),
    commandLog: {} as FeatureHost["commandLog"],
    addAudit: () => {},
    configuring: null,
  };
  return withFeatures(
    parts,
    await createFeatures({
      ...parts,
      settings: bindSite(settings, "plant-7"),
      newest,
      ...without,
      tables: store.tables ?? ({} as FeatureHost["tables"]),
      keeping: store.keeping ?? null,
      readings: { history: store.history } as unknown as FeatureHost["readings"],
      memory,
      boxFaults: () => [],
      sensors: () => parts.status.status().sensors,
      settledSensors: () => parts.status.status().sensors,
      isGatewayTimeKnown: () => true,
    }),
  );
}
