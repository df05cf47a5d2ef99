/** Conflicts between the sessions of uplinks on one broker. */

import type { JsonObject } from "../core/record.ts";
import { topicLevel } from "../core/topics/topic-level.ts";
import { clientIdsOf, MAIN_UPLINK } from "../core/uplink.ts";
import { isLoopback } from "./checks.ts";
import { allOf, type Note, shown } from "./fault.ts";
import { FORMATS } from "./formats.ts";
import { hasFixedTopics, profileOf } from "./profiles.ts";
import type { UplinksContext } from "./uplinks-context.ts";
import { dict, formatsOf, text } from "./written-parts.ts";

interface UplinkSession {
  readonly place: string;
  readonly urls: readonly string[];
  readonly clientIds: readonly string[];
  readonly node: string | null;
  /** Null if it publishes no topics of ours. */
  readonly prefix: string | null;
  /** The profile of which a broker has one alone. */
  readonly alone: string | null;
}

export function mainSessions({ main }: UplinksContext): UplinkSession[] {
  if (main === null) return [];
  const { urls, formats, clientId, sparkplug, topicPrefix } = main;
  return [
    {
      place: MAIN_UPLINK,
      urls,
      clientIds: idsOf(clientId, formats),
      node: sparkplug && `${sparkplug.group}/${sparkplug.node}`,
      prefix: formats.some((format) => format !== "sparkplug") ? topicPrefix : null,
      alone: null,
    },
  ];
}

export function sessionsOf(
  uplink: JsonObject,
  place: string,
  urls: readonly string[],
  { site }: UplinksContext,
): UplinkSession {
  const formats = formatsOf(uplink);
  const name = topicLevel(site?.site ?? "");
  const clientId = text(uplink["clientId"]) ?? `gateside-${name}-${String(uplink["name"])}`;
  const sparkplug = dict(uplink["sparkplug"]);
  const group = text(sparkplug?.["group"]) ?? name;
  const node = text(sparkplug?.["node"]) ?? "gateside";
  const hasTopics = formats.some((format) => format !== "sparkplug");
  const platform = profileOf(uplink["profile"]);
  return {
    place,
    urls,
    clientIds: idsOf(clientId, formats),
    node: formats.includes("sparkplug") ? `${group}/${node}` : null,
    prefix:
      hasTopics && !hasFixedTopics(uplink["profile"])
        ? (text(uplink["topicPrefix"]) ?? "gateside")
        : null,
    alone: hasTopics && platform?.entities !== undefined ? platform.name : null,
  };
}

function idsOf(clientId: string, formats: readonly string[]): string[] {
  const known = FORMATS.filter((format) => formats.includes(format));
  return Object.values(clientIdsOf({ clientId, formats: known })).filter((id) => id !== null);
}

/** The host of a URL in any spelling; every name of this machine is one. */
function hostOf(url: string): string {
  const host = new URL(url).hostname.toLowerCase().replace(/\.$/, "");
  return isLoopback(host) ? "localhost" : host;
}

/** The broker of a URL in any spelling: host and port, the default port filled in. */
function brokerOf(url: string): string {
  const { protocol, port } = new URL(url);
  const ports: Readonly<Record<string, string>> = {
    "mqtt:": "1883",
    "mqtts:": "8883",
    "ws:": "80",
    "wss:": "443",
  };
  return `${hostOf(url)}:${port || ports[protocol]}`;
}

export function checkSessions(
  others: UplinkSession[],
  own: UplinkSession,
  { fault, warn }: { readonly fault: Note; readonly warn: Note },
): void {
  for (const other of others) {
    if (!shareHost(own, other)) continue;
    // The listeners of one broker know each client id once.
    const id = own.clientIds.find((clientId) => other.clientIds.includes(clientId));
    if (id !== undefined) {
      const place = `${own.place}.clientId`;
      const remedy = "use a different client id for each";
      const also = `${shown(id)} is also a client id of ${other.place} at`;
      if (isOneBroker(own, other)) {
        const problem = `${also} the same host, so each session would end the other`;
        fault({ place, problem, remedy });
      } else {
        const problem = `${also} another port of the same host; if both are listeners of one broker, each session ends the other`;
        warn({ place, problem, remedy });
      }
    }
    if (!isOneBroker(own, other)) continue;
    if (own.alone !== null && own.alone === other.alone)
      fault({
        place: `${own.place}.profile`,
        problem: `${shown(own.alone)} is also the profile of ${other.place} at the same broker, so each would overwrite the entities of the other`,
        remedy: "keep one of the two",
      });
    if (own.node !== null && own.node === other.node)
      fault({
        place: `${own.place}.sparkplug`,
        problem: `${shown(own.node)} is also the edge node of ${other.place} at the same broker`,
        remedy: "use a different group or node for each",
      });
  }
  others.push(own);
}

type SessionAddresses = Pick<UplinkSession, "urls">;

export const shareBroker = (a: SessionAddresses, b: SessionAddresses) => share(a, b, brokerOf);
const shareHost = (a: SessionAddresses, b: SessionAddresses) => share(a, b, hostOf);

/** One broker has a listener for each protocol; one protocol at two ports of a host is usually two brokers. */
export function isOneBroker(a: SessionAddresses, b: SessionAddresses): boolean {
  const isSame = (one: string, other: string) => {
    if (hostOf(one) !== hostOf(other)) return false;
    return new URL(one).protocol !== new URL(other).protocol || brokerOf(one) === brokerOf(other);
  };
  return a.urls.some((one) => b.urls.some((other) => isSame(one, other)));
}

function share(a: SessionAddresses, b: SessionAddresses, partOf: (url: string) => string): boolean {
  const parts = new Set(a.urls.map(partOf));
  return b.urls.some((url) => parts.has(partOf(url)));
}

/** One warning for all uplinks that share a broker and prefix. */
export function checkPrefixes(sessions: readonly UplinkSession[], warn: Note): void {
  const warned = new Set<UplinkSession>();
  for (const [i, first] of sessions.entries()) {
    if (first.prefix === null || warned.has(first)) continue;
    const others = sessions
      .slice(i + 1)
      .filter((one) => one.prefix === first.prefix && !warned.has(one) && shareBroker(first, one));
    const [second] = others;
    if (second === undefined) continue;
    for (const one of others) warned.add(one);
    const places = [first, ...others.slice(1)].map(({ place }) => place);
    warn({
      place: `${second.place}.topicPrefix`,
      problem: `${shown(first.prefix)} is also the prefix of ${allOf(places)} at the same broker, so ${others.length === 1 ? "both" : "all"} publish agent/state and the like there`,
      remedy: "use a different topicPrefix for each",
    });
  }
}
