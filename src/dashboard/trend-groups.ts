/** Which values are drawn together: the channels of one quantity in one unit. */
import type { ShownSensor } from "../core/query/shown.ts";
import type { Kind } from "../core/sensor.ts";
import { unitSign } from "./format.ts";
import { KIND_WORDS, QUANTITY_ORDER, valueWords } from "./words.ts";

export interface TrendGroup {
  readonly key: string;
  readonly kind: Kind;
  readonly label: string;
  readonly quantity: string;
  readonly unit: string;
  readonly isContact: boolean;
  readonly values: { readonly name: string; readonly label: string }[];
}

export function trendGroups(sensor: ShownSensor): TrendGroup[] {
  const groups = new Map<string, TrendGroup>();
  for (const kind of sensor.kinds) {
    const reading = sensor.latest[kind];
    if (reading === undefined) continue;
    for (const [name, value] of Object.entries(reading.values)) {
      if (typeof value === "string") continue;
      const words = valueWords(sensor, kind, name);
      // Zones are letters, even if a bad one is null.
      if (words.quantity === "zone") continue;
      const unit = reading.units[name] ?? "";
      // The channels of a loop measure different things, each on its own scale.
      const isAlone = kind === "loop" && words.quantity === "value";
      const key = `${kind}.${words.quantity}${isAlone ? `.${words.channel}` : ""}`;
      let group = groups.get(key);
      if (group === undefined) {
        group = {
          key,
          kind,
          label: isAlone ? words.channelLabel : words.quantityLabel,
          quantity: words.quantity,
          unit: unitSign(unit),
          isContact: kind === "dryContact" && words.quantity === "state",
          values: [],
        };
        groups.set(key, group);
      }
      group.values.push({ name, label: words.channelLabel || words.quantityLabel });
    }
  }
  const rank = ({ quantity }: TrendGroup) => QUANTITY_ORDER.indexOf(quantity);
  return [...groups.values()].sort(
    (a, b) => sensor.kinds.indexOf(a.kind) - sensor.kinds.indexOf(b.kind) || rank(a) - rank(b),
  );
}

export function groupLabel(group: TrendGroup, withKind: boolean): string {
  const unit = group.unit === "" ? "" : ` (${group.unit})`;
  return `${withKind ? `${KIND_WORDS[group.kind]}: ` : ""}${group.label}${unit}`;
}
