/**
 * The configuration in effect, what a reload would change or has changed, and what prevents it (plant sections 12 and
 * 16).
 */

import { publicUrl } from "../addresses/public-url.ts";
import { list, named, type Of, object, oneOf, TEXT } from "../schema.ts";
import type { Site } from "../site.ts";
import { MAIN_UPLINK, type Uplink } from "../uplink.ts";
import { CONFIGURATION_FAULT } from "./configuration-fault.ts";
import { consequencesOf } from "./consequences.ts";
import { canonicalJson, changedFields, type SiteDifference } from "./site-difference.ts";

/** As shown by `status`, `agent/state` and the statistics. */
export const CONFIGURATION_STATE = {
  configuration: {
    ...TEXT,
    description: "First 12 hex digits of the SHA-256 of the configuration in effect.",
  },
  pendingRestart: { ...list(TEXT), description: "Settings that differ from the running ones." },
  pendingReload: {
    ...list(TEXT),
    description: "Settings that name files that have changed since.",
  },
  configurationFaults: { ...list(TEXT), description: "Why the last reload was refused." },
  renewedByRestart: {
    ...list(TEXT),
    description: "Settings whose files below $CREDENTIALS_DIRECTORY are copies of the start.",
  },
};
const STATE = object(CONFIGURATION_STATE);
export type ConfigurationState = Of<typeof STATE>;

/** Settings that a restart renews; agents before 0.3 do not say. */
export function renewedBy({
  renewedByRestart = [],
}: Partial<Pick<ConfigurationState, "renewedByRestart">>): readonly string[] {
  return renewedByRestart;
}

/** Names of uplinks, and of the members that differ; secrets are compared and never shown. */
const UPLINKS_DIFFERENCE = object({
  added: list(TEXT),
  removed: list(TEXT),
  changed: list(object({ name: TEXT, fields: list(TEXT) })),
});
export type UplinksDifference = Of<typeof UPLINKS_DIFFERENCE>;

/** A difference as it is reported: codes and names, no contents. */
const CHANGES = object({
  sensors: object({
    added: list(TEXT),
    removed: list(TEXT),
    changed: list(object({ code: TEXT, fields: list(TEXT) })),
  }),
  /** Other members of the site file, such as `alarms`. */
  site: list(TEXT),
  /** What follows for alarms, baselines and trends, a line each. */
  consequences: list(TEXT),
  uplinks: UPLINKS_DIFFERENCE,
});
export type ConfigurationChanges = Of<typeof CHANGES>;

/** `configuration`: what is in effect now. */
export const RELOAD_REPORT = named(
  "ReloadReport",
  object({
    outcome: oneOf(["applied", "unchanged", "refused"]),
    configuration: TEXT,
    changes: CHANGES,
    faults: list(CONFIGURATION_FAULT),
    warnings: list(CONFIGURATION_FAULT),
    pendingRestart: list(TEXT),
    renewedByRestart: list(TEXT),
  }),
);
export type ReloadReport = Of<typeof RELOAD_REPORT>;

/** The part that HTTP offers. */
export interface ConfigurationControl {
  /** The site and the uplinks in effect, without `main` and without secrets. */
  inEffect(): { readonly site: Site; readonly uplinks: readonly PublicUplink[] };
  /** Reads the files again and applies the difference. `by` is who asked, for the log. */
  reload(by: string): Promise<ReloadReport>;
  /**
   * Names of settings, and of secrets of uplinks, whose keyed digests differ from those of the running agent; what is not given is not
   * compared, nor secrets unless `withSecrets`: a view token could be used to guess them.
   */
  compare(
    nonce: string,
    digests: Readonly<Record<string, string>>,
    withSecrets: boolean,
  ): readonly string[];
}

/** Members of an uplink that hold secrets: these as a whole, `proxy` and `urls` in part. */
export const UPLINK_SECRETS = ["username", "password", "sasKey", "proxy", "urls"] as const;

export type PublicUplink = Omit<Uplink, "username" | "password" | "sasKey" | "secretFiles">;

/** Without `UPLINK_SECRETS`. */
export function withoutSecrets(uplink: Uplink): PublicUplink {
  const {
    username: _username,
    password: _password,
    sasKey: _sasKey,
    secretFiles: _secretFiles,
    ...rest
  } = uplink;
  // The query of a WebSocket address may sign it; the address of a proxy may hold its password.
  const proxy = rest.proxy === null ? null : publicUrl(rest.proxy);
  return { ...rest, proxy, urls: rest.urls.map(publicUrl) };
}

export function uplinksDifference(
  before: readonly { readonly name: string }[],
  after: readonly { readonly name: string }[],
): UplinksDifference {
  const others = (uplinks: readonly { readonly name: string }[]) =>
    new Map(uplinks.filter(({ name }) => name !== MAIN_UPLINK).map((one) => [one.name, one]));
  const known = others(before);
  const wanted = others(after);
  const names = [...known.keys()];
  const moved = movedNames(names, [...wanted.keys()]);
  return {
    added: [...wanted.keys()].filter((name) => !known.has(name)),
    removed: names.filter((name) => !wanted.has(name)),
    changed: [...wanted].flatMap(([name, uplink]) => {
      const old = known.get(name);
      if (old === undefined) return [];
      const fields = canonicalJson(old) === canonicalJson(uplink) ? [] : changedFields(old, uplink);
      if (moved.has(name)) fields.push("order");
      return fields.length === 0 ? [] : [{ name, fields }];
    }),
  };
}

/** The fewest whose move makes the new order; none that others merely pushed on. */
function movedNames(before: readonly string[], after: readonly string[]): ReadonlySet<string> {
  const common = after.filter((name) => before.includes(name));
  const longer = (a: readonly string[], b: readonly string[]) => (b.length > a.length ? b : a);
  /** For each name the longest list up to it whose former order was the same. */
  const runs: (readonly string[])[] = [[]];
  for (const name of common) {
    const place = before.indexOf(name);
    const longest = runs.filter((run) => before.indexOf(run.at(-1) ?? "") < place).reduce(longer);
    runs.push([...longest, name]);
  }
  const stays = new Set(runs.reduce(longer));
  return new Set(common.filter((name) => !stays.has(name)));
}

/** A change of these members of an uplink needs no new session. */
const SESSIONLESS: ReadonlySet<string> = new Set(["maxAgeHours", "startFrom", "order"]);

export function keepsSession(fields: readonly string[]): boolean {
  return fields.every((field) => SESSIONLESS.has(field));
}

/**
 * What a reload changes of `main`: its settings wait for the restart, but files that they name may hold new certificates,
 * or other credentials.
 */
export function withRenewedMain(
  difference: UplinksDifference,
  before: MainFiles | null,
  after: MainFiles | null,
): UplinksDifference {
  if (before === null || after === null) return difference;
  const { tls, username = null, password = null, proxy = null } = after;
  const fields = [
    ...(before.tls.digest === tls.digest ? [] : ["tls"]),
    ...((before.username ?? null) === username ? [] : ["username"]),
    ...((before.password ?? null) === password ? [] : ["password"]),
    ...((before.proxy ?? null) === proxy ? [] : ["proxy"]),
  ];
  if (fields.length === 0) return difference;
  return { ...difference, changed: [{ name: MAIN_UPLINK, fields }, ...difference.changed] };
}

type MainFiles = Pick<Uplink, "tls"> & Partial<Pick<Uplink, "username" | "password" | "proxy">>;

export function changesOf(
  { added, removed, changed, fields, after }: SiteDifference,
  uplinks: UplinksDifference,
): ConfigurationChanges {
  return {
    sensors: {
      added: added.map(({ code }) => code),
      removed: removed.map(({ code }) => code),
      changed: changed.map(({ after, fields: own }) => ({ code: after.code, fields: own })),
    },
    site: fields,
    consequences: after === null ? [] : consequencesOf(added, changed, after),
    uplinks,
  };
}

export const SAME_SITE: SiteDifference = {
  added: [],
  removed: [],
  changed: [],
  fields: [],
  after: null,
};

export const NO_CHANGES: ConfigurationChanges = changesOf(SAME_SITE, {
  added: [],
  removed: [],
  changed: [],
});

export function hasChanges({ sensors, site, uplinks }: ConfigurationChanges): boolean {
  const lists: readonly (readonly unknown[])[] = [
    sensors.added,
    sensors.removed,
    sensors.changed,
    site,
    uplinks.added,
    uplinks.removed,
    uplinks.changed,
  ];
  return lists.some((list) => list.length > 0);
}

/** Agents up to 0.2 do not say what follows. */
type OlderChanges = Omit<ConfigurationChanges, "consequences"> &
  Partial<Pick<ConfigurationChanges, "consequences">>;

/** The meaning of a difference, a line each, for people. */
export function changeLines({ sensors, site, consequences = [], uplinks }: OlderChanges): string[] {
  return [
    ...sensors.added.map((code) => `sensor ${code} is added; it is read as on a first start`),
    ...sensors.removed.map((code) => `sensor ${code} is removed; its stored readings are kept`),
    ...sensors.changed.map(({ code, fields }) => `sensor ${code} changes: ${fields.join(", ")}`),
    ...site.map((field) => `${field} changes`),
    ...consequences,
    ...uplinks.added.map((name) => `uplink ${name} is added`),
    ...uplinks.removed.map(
      (name) => `uplink ${name} is removed; its undelivered readings are dropped`,
    ),
    ...uplinks.changed.map(({ name, fields }) => {
      const session = keepsSession(fields) ? "" : ", with a new session";
      return `uplink ${name} changes${session}: ${fields.join(", ")}`;
    }),
  ];
}
