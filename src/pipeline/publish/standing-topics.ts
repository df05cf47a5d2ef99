/** What may be retained at a broker, by sensor: as it is recorded before it is sent. */
import { keptTopics } from "../../core/parsed-json.ts";
import { isJsonObject } from "../../core/record.ts";
import { KINDS, type Kind } from "../../core/sensor.ts";
import type { RetainedTopics } from "./formats/profile.ts";

/** What releases before 0.3 have recorded lacks `values`. */
type KnownTopics = Omit<RetainedTopics, "values"> & Partial<Pick<RetainedTopics, "values">>;

export type KnownEntry = KnownTopics & { readonly kinds: readonly Kind[] };

/** By sensor code: what may be retained about it. */
export type Standing = Readonly<Record<string, KnownEntry>>;

/** Stands for the agent itself among the codes of sensors, none of which is empty. */
export const AGENT = "";

export const allTopics = ({
  state,
  descriptions,
  readings,
  values = [],
}: KnownTopics): string[] => [...state, ...descriptions, ...readings, ...values];

/** One damaged byte leaves JSON too: another name of a member, say. */
export function keptEntry(entry: unknown): KnownEntry {
  const { state, descriptions, readings, values, kinds } = isJsonObject(entry) ? entry : {};
  return {
    state: keptTopics(state),
    descriptions: keptTopics(descriptions),
    readings: keptTopics(readings),
    values: keptTopics(values),
    kinds: Array.isArray(kinds) ? KINDS.filter((kind) => kinds.includes(kind)) : [],
  };
}

/** Both: what is retained already and what is about to be. */
export function merged(before: Standing, now: Standing): Standing {
  if (hasAll(before, now)) return before;
  if (hasAll(now, before)) return now;
  const union = (a: readonly string[] = [], b: readonly string[] = []) => [
    ...new Set([...a, ...b]),
  ];
  const codes = union(Object.keys(before), Object.keys(now));
  return Object.fromEntries(
    codes.map((code) => {
      // Own members only: a sensor may be called `constructor`.
      const [old, next] = [before, now].map((one) => (Object.hasOwn(one, code) ? one[code] : null));
      if (old === next && next) return [code, next];
      return [
        code,
        {
          state: union(old?.state, next?.state),
          descriptions: union(old?.descriptions, next?.descriptions),
          readings: union(old?.readings, next?.readings),
          values: union(old?.values, next?.values),
          kinds: next?.kinds ?? old?.kinds ?? [],
        },
      ];
    }),
  );
}

function hasAll(all: Standing, some: Standing): boolean {
  return Object.entries(some).every(
    ([code, entry]) => Object.hasOwn(all, code) && all[code] === entry,
  );
}
