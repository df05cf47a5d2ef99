/**
 * The picture at the top: sensors → gateway → buffer → broker, with the current data rates.
 * In one file: stations, pipes and tank share their places with what writes into them.
 */

import { isUntried, type ShownStatus } from "../core/agent-status.ts";
import { linkKey, uplinkTitle } from "../core/link-title.ts";
import { type Cleanup, h, oncePerFrame, replace, s, setAttribute, setText } from "./dom.ts";
import { age, bytes, count, hours, rate } from "./format.ts";
import { type BadgeTone, toneIcon, writeTime } from "./marks.ts";
import type { Model } from "./model.ts";

type FlowLink = ShownStatus["links"][number];
type FlowState = "flowing" | "idle" | "broken" | "held" | "unknown";

const ICONS = {
  sensors: "M6 20v-7M6 9V8M12 20V10M12 6V5M18 20v-4M18 12v-1M3 20h18",
  gateway: "M4 14h16v6H4zM8 17h.01M12 17h.01M12 14V9M8.5 8.5a5 5 0 017 0M6 5.5a8.6 8.6 0 0112 0",
  broker:
    "M12 9a3 3 0 100 6 3 3 0 000-6zM12 9V4M9.4 13.5L5 16.5M14.6 13.5l4.4 3M12 4h.01M5 16.5h.01M19 16.5h.01",
} as const;

interface Station {
  readonly root: HTMLElement;
  show(tone: BadgeTone, state: string, lines: readonly (string | Node)[]): void;
}

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
    "section",
    { class: "flow", "aria-labelledby": "flow-title" },
    h("h2", { id: "flow-title", class: "sr" }, "Data flow"),
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
    [host(link.url), since, link.isConnected ? (trouble ?? "") : plural(pending)],
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

function station(title: string, picture: Element): Station {
  const state = h("p", { class: "state" });
  const detail = h("ul", { class: "detail" });
  const mark = h("span", { class: "mark" });
  const root = h(
    "div",
    { class: "station" },
    h("div", { class: "picture" }, picture),
    h("div", { class: "words" }, h("h3", null, title, mark), state, detail),
  );
  let known = "";
  return {
    root,
    show(tone, text, lines) {
      setAttribute(root, "data-tone", tone);
      setText(state, text);
      const wanted = lines.filter((line) => line !== "");
      const key = `${tone}|${wanted.map((line) => (typeof line === "string" ? line : line.textContent)).join("|")}`;
      if (key === known) return;
      known = key;
      replace(mark, toneIcon(tone));
      replace(detail, ...wanted.map((line) => h("li", null, line)));
    },
  };
}

interface Pipe {
  readonly root: HTMLElement;
  /** `origin` is the position of the picture, `hint` is shown on hover. */
  show(
    state: FlowState,
    label: string,
    perS: number,
    more?: { readonly origin: string; readonly hint: string },
  ): void;
}

/** Why there are more messages than readings. */
const MESSAGES_HINT =
  "A reading is one message per format. Each plain value and each waveform is a separate message. Includes the backlog.";

const PIPE_WORDS: Readonly<Record<FlowState, string>> = {
  flowing: "flowing",
  idle: "nothing to move",
  broken: "interrupted",
  held: "held back",
  unknown: "not known",
};

/** Drawn horizontally and vertically; the style sheet shows the one that fits the width. */
function pipe(): Pipe {
  const label = h("span", { class: "pipe-label" });
  const from = h("span", { class: "pipe-origin" });
  const words = h("span", { class: "pipe-state" });
  const cross = s("path", { class: "cross", d: "M-7-7l14 14M7-7l-14 14" });
  const picture = s(
    "svg",
    {
      class: "pipe-picture",
      viewBox: "0 0 100 24",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    s("line", { class: "bed", x1: 0, y1: 12, x2: 100, y2: 12 }),
    s("line", { class: "stream", x1: 0, y1: 12, x2: 100, y2: 12 }),
  );
  const head = s(
    "svg",
    { class: "pipe-head", viewBox: "-12 -12 24 24", "aria-hidden": "true" },
    s("path", { class: "arrow", d: "M-6-8L6 0l-12 8z" }),
    cross,
  );
  const root = h(
    "div",
    { class: "pipe" },
    h("div", { class: "pipe-line" }, picture, head),
    words,
    label,
    from,
  );
  return {
    root,
    show(state, text, perS, { origin, hint } = { origin: "", hint: "" }) {
      setText(from, origin);
      setAttribute(label, "title", hint === "" || text === "" ? null : hint);
      setAttribute(root, "data-flow", state);
      setText(label, text);
      setText(words, PIPE_WORDS[state]);
      // From slow to fast; the animation shows more or less, the label shows how much.
      const seconds = Math.min(3, Math.max(0.5, 1.6 - 0.45 * Math.log10(Math.max(0.02, perS))));
      root.style.setProperty("--flow-time", `${seconds.toFixed(1)}s`);
    },
  };
}

function icon(path: string): SVGElement {
  return s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path }));
}

interface Tank {
  readonly root: SVGElement;
  show(share: number): void;
}

/** A vessel whose level is the share of the buffer in use. */
function tankPicture(): Tank {
  const level = s("rect", { class: "level", x: 4, width: 16, y: 21, height: 0 });
  const root = s(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true" },
    level,
    s("path", { d: "M4 5v14c0 1.4 3.6 2.5 8 2.5s8-1.1 8-2.5V5" }),
    s("ellipse", { cx: 12, cy: 5, rx: 8, ry: 2.5 }),
  );
  return {
    root,
    show(share) {
      // A little stays visible, so that it is recognised as a level.
      const height = 1 + 14.5 * Math.min(1, Math.max(0, share));
      setAttribute(level, "y", (20.5 - height).toFixed(2));
      setAttribute(level, "height", height.toFixed(2));
    },
  };
}
