/**
 * FUXA's device file (Connections → Import, JSON): an array of devices with their tags. A tag of type `raw` is the
 * whole payload of its topic; FUXA binds only top-level members of JSON payloads, so readings come from the format
 * plain.
 */
import { createHash } from "node:crypto";
import type { Uplink } from "../core/uplink.ts";
import type { ListedTopic } from "./topics-list.ts";

/** Null if nothing is published that FUXA can bind. */
export function fuxaDevices(
  rows: readonly ListedTopic[],
  uplinks: readonly Pick<Uplink, "name" | "urls">[],
): object[] | null {
  const devices = uplinks.flatMap(({ name, urls }) => {
    const values = rows.filter(({ uplink, format }) => uplink === name && format === "plain");
    if (values.length === 0) return [];
    const tags = values.map((row) => fuxaTag(row));
    return [
      {
        id: `d_${idOf(`device ${name}`)}`,
        name: `gateside ${name}`,
        enabled: true,
        type: "MQTTclient",
        polling: 1000,
        property: { address: urls[0] ?? "" },
        tags: Object.fromEntries(tags.map((tag) => [tag.id, tag])),
      },
    ];
  });
  return devices.length === 0 ? null : devices;
}

function fuxaTag({ uplink, topic, sensor, kind, value, name, axis, unit }: ListedTopic) {
  const channel = [name, axis].filter((text) => text !== null).join(" ");
  return {
    id: `t_${idOf(`${uplink} ${topic}`)}`,
    name: `${sensor} ${kind} ${value}`,
    type: "raw",
    address: topic,
    memaddress: topic,
    options: { subs: [topic] },
    daq: { enabled: false, changed: true, interval: 60 },
    description: [channel, unit ?? ""].filter((text) => text !== "").join(", "),
  };
}

/** The same tag has the same id in every list, so that importing again changes it instead of adding one. */
const idOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
