/** The picture of the data flow: sensors → gateway → buffer → broker, with the current rates. */

import { isUntried, type ShownStatus } from "../core/agent-status.ts";
import { linkKey, uplinkTitle } from "../core/delivery/link-title.ts";
import { type Cleanup, h, oncePerFrame, replace, setAttribute } from "./dom.ts";
import {
  type FlowState,
  ICONS,
  icon,
  type Pipe,
  pipe,
  type Station,
  station,
  type Tank,
  tankPicture,
} from "./flow-parts.ts";
import { age, bytes, count, hours, rate } from "./format.ts";
import { type BadgeTone, writeTime } from "./marks.ts";
import type { Model } from "./model.ts";

type FlowLink = ShownStatus["links"][number];

/** Why there are more messages than readings. */
const MESSAGES_HINT =
  "A reading is one message per format. Each plain value and each waveform is a separate message. Includes the backlog.";

export function flowPicture(model: Model): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const sensors = station("Sensors", icon(ICONS.sensors));
  const gateway = station("Gateway", icon(ICONS.gateway));
  const tank = tankPicture();
  const buffer = station("Buffer", tank.root);
  const toGateway = pipe();
  const toBuffer = pipe();
  const brokers = h("div", { class: "brokers" });
  const links = new Map<string, { readonly pipe: Pipe; readonly station: Station }>();
  const root = h(
    "div",
    { class: "flow" },
    sensors.root,
    toGateway.root,
    gateway.root,
    toBuffer.root,
    buffer.root,
    brokers,
  );

  for (const one of [toGateway, toBuffer]) one.show("unknown", "", 0.3);
  // Before the first status nothing is known about brokers; one stands for all.
  const [anyPipe, anyBroker] = [pipe(), station("Broker", icon(ICONS.broker))];
  anyPipe.show("unknown", "", 0.3);
  for (const one of [sensors, gateway, buffer, anyBroker]) one.show("off", "…", []);
  brokers.append(anyPipe.root, anyBroker.root);

  const show = (): void => {
    const { status } = model;
    if (status === null) return;
    // A site needs a name before there can be a session.
    if (status.links.length === 0) anyBroker.show("off", "Not connected yet", []);
    setAttribute(root, "data-live", model.isLive ? "yes" : "no");
    const rates = model.rates();
    showSensors(model, sensors, toGateway);
    showGateway(model, status, gateway, toBuffer, rates.storedPerS);
    showBuffer(status, buffer, tank);
    syncLinks(status.links, links, brokers);
    for (const link of status.links) {
      const shown = links.get(linkKey(link));
      if (shown === undefined) continue;
      const perS = rates.sentPerS.get(linkKey(link)) ?? null;
      showLink(model, status, link, shown.station, shown.pipe, perS);
    }
  };
  const soon = oncePerFrame(show);
  const timer = setInterval(soon, 5_000);
  const unsubscribe = model.subscribe(soon);
  show();
  return {
    root,
    stop: () => {
      clearInterval(timer);
      unsubscribe();
    },
  };
}

function showSensors(model: Model, station: Station, toGateway: Pipe): void {
  const all = [...model.sensors.values()].filter(({ state }) => state !== "removed");
  const known = all.length > 0 ? all : (model.status?.sensors ?? []);
  const online = known.filter(({ state }) => state === "online").length;
  const silent = known.filter(({ state }) => state === "silent").length;
  const tone: BadgeTone = silent > 0 ? "warn" : online > 0 ? "ok" : "off";
  const rest = known.length - online - silent;
  station.show(tone, `${online} of ${known.length} online`, [
    silent > 0 ? `${silent} silent` : "none silent",
    rest > 0 ? `${rest} without a reading yet` : "",
  ]);
  // While the gateway is silent, the state of the radio is unknown.
  const isKnown = model.isLive && model.status?.gateway.isUp === true;
  toGateway.show(isKnown ? (online > 0 ? "flowing" : "idle") : "unknown", "radio", 0.4);
}

function showGateway(
  model: Model,
  status: ShownStatus,
  station: Station,
  toBuffer: Pipe,
  perS: number | null,
): void {
  const { gateway } = status;
  if (isUntried(gateway)) {
    station.show("off", "Not contacted yet", [host(gateway.url)]);
    return toBuffer.show("unknown", "", 0.3);
  }
  const last =
    gateway.lastAnswerAtMs === null
      ? "no response yet"
      : gateway.isUp
        ? ""
        : `silent for ${age(model.agentNowMs() - gateway.lastAnswerAtMs)}`;
  const skew = gateway.skewMs;
  const skewMinutes = skew === null ? 0 : Math.round(Math.abs(skew) / 60_000);
  station.show(gateway.isUp ? "ok" : "bad", gateway.isUp ? "Responding" : "Not responding", [
    host(gateway.url),
    last,
    skewMinutes >= 1 && skew !== null
      ? `clock ${skewMinutes}\u00a0min ${skew > 0 ? "ahead" : "behind"}`
      : "",
  ]);
  const state: FlowState = !model.isLive
    ? "unknown"
    : !gateway.isUp
      ? "broken"
      : perS === 0
        ? "idle"
        : "flowing";
  const label = perS === null || state !== "flowing" ? "" : `Readings stored: ${rate(perS)}`;
  toBuffer.show(state, label, perS ?? 0.3);
}

function showBuffer(status: ShownStatus, station: Station, tank: Tank): void {
  const { buffer } = status;
  const share = buffer.limitBytes > 0 ? buffer.databaseBytes / buffer.limitBytes : 0;
  const hoursLeft = buffer.hoursUntilFull;
  const isWell = buffer.isWritable && buffer.alarm === null;
  const isTight = hoursLeft !== null && hoursLeft < 24;
  const pending = waiting(status);
  tank.show(share);
  station.show(
    isWell ? (isTight ? "warn" : "ok") : "bad",
    hoursLeft === null ? "Storing readings" : `Room for ${hours(hoursLeft)} offline`,
    [
      hoursLeft === null ? "hours until full: known after one hour" : "",
      `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}\u00a0% of ${bytes(buffer.limitBytes)} used`,
      pending === 0 ? "nothing waiting" : `${plural(pending)} to send`,
    ],
  );
}

function showLink(
  model: Model,
  status: ShownStatus,
  link: FlowLink,
  station: Station,
  pipe: Pipe,
  perS: number | null,
): void {
  const isHeld = link.isConnected && link.hostOnline === false;
  const trouble = link.refused?.text ?? link.otherAgent ?? null;
  const isTroubled = link.isConnected && trouble !== null;
  const tone: BadgeTone = link.isConnected ? (isHeld ? "warn" : isTroubled ? "bad" : "ok") : "bad";
  const since = link.since === null ? "" : sinceNode(model, link.since);
  const { pending } = link;
  station.show(
    tone,
    link.isConnected
      ? isHeld
        ? "Primary host offline"
        : isTroubled
          ? link.refused
            ? "Refuses publishes"
            : "Another agent"
          : "Connected"
      : "Disconnected",
    [host(link.url), since, link.isConnected ? "" : plural(pending)],
  );
  const state: FlowState = !model.isLive
    ? "unknown"
    : !link.isConnected
      ? "broken"
      : isHeld
        ? "held"
        : perS === 0
          ? "idle"
          : "flowing";
  // The agent's counts: every acknowledged message on MQTT; on Sparkplug the readings and measurements in them.
  const isMqtt = link.name === "mqtt";
  const label =
    perS === null || state !== "flowing"
      ? ""
      : `${isMqtt ? "Messages" : "Readings"} sent: ${rate(perS)}`;
  // Stacked vertically, several brokers would look like a chain.
  pipe.show(state, label, perS ?? 0.3, {
    origin: status.links.length > 1 ? "from the buffer" : "",
    hint: isMqtt ? MESSAGES_HINT : "",
  });
}

/** For example `1 reading waits`. */
function plural(pending: number): string {
  return pending === 1 ? "1 reading waits" : `${count(pending)} readings wait`;
}

function sinceNode(model: Model, ms: number): Node {
  const time = h("time");
  writeTime(time, model, ms);
  return h("span", null, "since ", time);
}

/** Sensors, gateway, buffer and uplinks in a line, while nothing of them needs anybody. */
export function flowWords(model: Model): string {
  const { status } = model;
  if (status === null) return "";
  const { buffer, links } = status;
  const all = [...model.sensors.values()].filter(({ state }) => state !== "removed");
  const known = all.length > 0 ? all : status.sensors;
  const online = known.filter(({ state }) => state === "online").length;
  const silent = known.filter(({ state }) => state === "silent").length;
  const share = buffer.limitBytes > 0 ? buffer.databaseBytes / buffer.limitBytes : 0;
  const pending = waiting(status);
  const connected = links.filter(({ isConnected }) => isConnected).length;
  return [
    `${online} of ${known.length} sensors online${silent > 0 ? `, ${silent} silent` : ""}`,
    isUntried(status.gateway) ? "gateway not contacted yet" : "gateway responds",
    `buffer ${(share * 100).toFixed(share < 0.1 ? 1 : 0)}\u00a0% full`,
    links.length === 0
      ? "no broker yet"
      : `${connected} of ${links.length} ${links.length === 1 ? "session" : "sessions"} connected`,
    pending === 0 ? "nothing waiting" : plural(pending),
  ].join(" · ");
}

/** Readings still to be sent: the longest queue of all. */
function waiting(status: ShownStatus): number {
  return Math.max(0, ...status.links.map(({ pending }) => pending));
}

function syncLinks(
  wanted: readonly FlowLink[],
  shown: Map<string, { readonly pipe: Pipe; readonly station: Station }>,
  parent: HTMLElement,
): void {
  if (wanted.length === shown.size && wanted.every((link) => shown.has(linkKey(link)))) return;
  shown.clear();
  replace(parent);
  for (const link of wanted) {
    const entry = { pipe: pipe(), station: station(linkHeading(link, wanted), icon(ICONS.broker)) };
    shown.set(linkKey(link), entry);
    parent.append(entry.pipe.root, entry.station.root);
  }
}

function linkHeading(link: FlowLink, all: readonly FlowLink[]): string {
  if (all.some(({ uplink }) => uplink !== "main")) return uplinkTitle(link, all);
  return link.name === "sparkplug" ? "Sparkplug" : all.length === 1 ? "Broker" : "MQTT";
}

/** Address without the parts an operator does not need. */
function host(url: string): string {
  try {
    return new URL(url).host || url;
  } catch {
    return url;
  }
}
