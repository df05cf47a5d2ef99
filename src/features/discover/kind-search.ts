/**
 * `discover --gateway`: asks the gateway which kinds have records for sensors of a type, so that nobody has to know
 * them.
 */

import type { Flags } from "../../cli/command.ts";
import { flagAddress } from "../../cli/flag-address.ts";
import { type GatewayAccess, type GatewaySettings, openGateway } from "../../cli/gateway-access.ts";
import { NO_SECRETS } from "../../config/secrets-of.ts";
import { normalCode, POLLED_KINDS, type PolledKind, type Sensor } from "../../core/sensor.ts";
import { addDays, dayOf } from "../../core/time/time-zone.ts";
import { basicAuthorization } from "../../lib/url-login.ts";
import { readOnce } from "../../pipeline/poll/one-read.ts";
import type { Survey } from "./survey.ts";

/** Sensors of a type that are tried: one may be off, or have sent nothing for days. */
const SENSORS_PER_TYPE = 3;
const DAYS_MAX = 31;
const TIMEOUT_MS = 30_000;
const BODY_MB_MAX = 256;

interface KindSearch {
  readonly url: string;
  /** Its log-in; secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  readonly wireWord: string;
  /** How many days are searched for records, the current one included. */
  readonly days: number;
}

interface KindsFound {
  /** By type code; types for which nothing was found are left out. */
  readonly kinds: ReadonlyMap<number, readonly PolledKind[]>;
  readonly notes: readonly string[];
}

/** The gateway cannot be reached, or returns no day of any sensor. */
export class GatewayRefusal extends Error {
  override readonly name = "GatewayRefusal";
}

/** Null if --gateway is not set. */
export function kindSearchOf(flags: Flags): KindSearch | null {
  const url = flags.text("gateway");
  const days = flags.number("days", { min: 1, max: DAYS_MAX, isInteger: true }) ?? 1;
  if (url === null) return null;
  const { url: address, username, password } = flagAddress("gateway", url);
  const isOpen = username === null && password === null;
  return {
    url: address,
    headers: isOpen
      ? {}
      : {
          authorization: basicAuthorization({ username: username ?? "", password: password ?? "" }),
        },
    service: flags.required("gateway-service"),
    wireWord: flags.required("wire-word"),
    days,
  };
}

/** Queries the types that are not in `known`. Rejects with a GatewayRefusal. */
export async function findKinds(
  search: KindSearch,
  found: Survey,
  known: { readonly types: ReadonlySet<number>; readonly codes: ReadonlySet<string> },
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<KindsFound> {
  const byType = new Map<number, string[]>();
  for (const { device } of found.devices) {
    const { type, code } = device;
    if (type === null || type < 0 || known.types.has(type)) continue;
    if (known.codes.has(normalCode(code))) continue;
    byType.set(type, [...(byType.get(type) ?? []), code]);
  }
  const gateway = await openGateway({ settings: settingsOf(search), uplinks: [] });
  const kinds = new Map<number, readonly PolledKind[]>();
  const notes: string[] = [];
  const responded = { isAny: false, last: "" };
  try {
    for (const [type, codes] of byType) {
      const tried = codes.slice(0, SENSORS_PER_TYPE);
      const sources = new Map<PolledKind, string>();
      for (const code of tried) {
        for (const kind of POLLED_KINDS) {
          if (sources.has(kind)) continue;
          progress(`gateway: type ${type}, sensor ${code}, ${kind}`);
          const hasRecords = await answers(
            gateway,
            search,
            { code, type, kind },
            responded,
            signal,
          );
          if (hasRecords) sources.set(kind, code);
        }
        // One sensor that responds is enough for its type; others are tried if it is silent.
        if (sources.size > 0) break;
      }
      if (sources.size === 0) {
        notes.push(
          `type ${type}: the gateway has no records for ${tried.join(", ")} in the last ${search.days} days; look further back with --days`,
        );
        continue;
      }
      kinds.set(type, [...sources.keys()]);
      const [code] = sources.values();
      notes.push(
        `type ${type}: treated as ${[...sources.keys()].join(" and ")}, because the gateway has such records for ${code}; correct sensors of this type that differ`,
      );
    }
  } finally {
    await gateway.client.close();
  }
  if (!responded.isAny && byType.size > 0) {
    if (/HTTP 40[13]/.test(responded.last))
      throw new GatewayRefusal(
        `the gateway refuses: ${responded.last}; write its user name and password as --gateway http://user:password@host`,
      );
    throw new GatewayRefusal(
      `the gateway returned no valid response for any sensor: ${responded.last}; check that ${gateway.client.state.url} is the gateway's address, ${search.service} its service (--gateway-service), and ${search.wireWord} the word in its names (--wire-word)`,
    );
  }
  return { kinds, notes };
}

/** True if the gateway has records of a kind in one of the days. */
async function answers(
  gateway: GatewayAccess,
  { days }: KindSearch,
  { code, type, kind }: { readonly code: string; readonly type: number; readonly kind: PolledKind },
  responded: { isAny: boolean; last: string },
  signal: AbortSignal,
): Promise<boolean> {
  const sensor: Sensor = { code, type, kinds: [kind], channels: {} };
  for (let back = 0; back < days; back += 1) {
    signal.throwIfAborted();
    // The gateway's zone is not known here; a UTC day overlaps one of its days.
    const day = addDays(dayOf(gateway.clock.now(), "UTC"), -back);
    const { result, count } = await readOnce(gateway, { sensor, kind, day }, signal);
    if (result.ok) {
      responded.isAny = true;
      if (count > 0) return true;
      continue;
    }
    if (result.isGatewayFault)
      throw new GatewayRefusal(
        `--gateway: ${result.message}; check that the gateway is on and that this is its address`,
      );
    responded.last = result.message;
    // A kind that it does not know today it does not know for yesterday either.
    return false;
  }
  return false;
}

function settingsOf({ url, headers, service, wireWord }: KindSearch): GatewaySettings {
  return {
    gatewayUrl: url,
    gatewayService: service,
    wireWord,
    gatewayCaFile: null,
    gatewayTimeoutMs: TIMEOUT_MS,
    gatewayConcurrency: 1,
    gatewayMaxBodyMb: BODY_MB_MAX,
    gatewayEmptyStatuses: [],
    ...NO_SECRETS,
    gatewayHeaders: headers,
  };
}
