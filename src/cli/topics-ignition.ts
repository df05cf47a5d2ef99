/**
 * Ignition's tag file (Designer, Tag Browser → Import Tags, JSON): folders of reference tags that point at the tags
 * which the MQTT Engine module creates from Sparkplug metrics, with unit and range set.
 */
import { topicLevel } from "../core/topics/topic-level.ts";
import type { Uplink } from "../core/uplink.ts";
import type { ListedTopic } from "./topics-list.ts";

const DATA_TYPES: Readonly<Record<ListedTopic["type"], string>> = {
  number: "Float8",
  boolean: "Boolean",
  string: "String",
  json: "String",
  bytes: "ByteArray",
};

/** Null if nothing is published as Sparkplug. */
export function ignitionTags(
  rows: readonly ListedTopic[],
  uplinks: readonly Pick<Uplink, "name" | "sparkplug">[],
): object | null {
  const folders = uplinks.flatMap(({ name, sparkplug }) => {
    const metrics = rows.filter(
      ({ uplink, format, path }) => uplink === name && format === "sparkplug" && path !== null,
    );
    if (sparkplug === null || metrics.length === 0) return [];
    const root = `[MQTT Engine]Edge Nodes/${sparkplug.group}/${sparkplug.node}`;
    const codes = [...new Set(metrics.map(({ sensor }) => sensor ?? ""))];
    return [
      {
        name: `gateside ${name}`,
        tagType: "Folder",
        tags: named(
          codes.map((code) => ({
            name: ignitionName(code),
            tagType: "Folder",
            tags: named(
              metrics.filter(({ sensor }) => sensor === code).map((row) => tagOf(row, root, code)),
            ),
          })),
        ),
      },
    ];
  });
  return folders.length === 0 ? null : { tags: folders };
}

/** Two names that differ only in signs that Ignition does not allow would be one: the import keeps one of them. */
function named<T extends { readonly name: string }>(tags: readonly T[]): T[] {
  const taken = new Set<string>();
  return tags.map((tag) => {
    let { name } = tag;
    // Ignition ignores upper and lower case.
    for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${tag.name} ${n}`;
    taken.add(name.toLowerCase());
    return { ...tag, name };
  });
}

function tagOf(row: ListedTopic, root: string, code: string) {
  const { path, type, unit, range, name, axis } = row;
  const channel = [name, axis].filter((text) => text !== null).join(" ");
  return {
    name: ignitionName((path ?? "").replaceAll("/", " ")),
    tagType: "AtomicTag",
    valueSource: "reference",
    sourceTagPath: `${root}/${topicLevel(code)}/${path}`,
    dataType: DATA_TYPES[type],
    ...(unit === null ? {} : { engUnit: unit }),
    ...(range === null ? {} : { engLow: range[0], engHigh: range[1] }),
    ...(channel === "" ? {} : { documentation: channel }),
  };
}

/**
 * Ignition allows letters, digits, spaces and _ - : ( ) ' in tag names, but none of these signs as the first
 * character.
 */
const ignitionName = (text: string): string =>
  text.replace(/[^\p{L}\p{N}_ \-:()']/gu, "_").replace(/^[^\p{L}\p{N}_]/u, "_");
