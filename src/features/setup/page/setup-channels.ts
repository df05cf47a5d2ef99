/** The channels of a sensor: all that its kinds have, each listed or not. */

import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import { POLLED_KINDS } from "../../../core/sensor.ts";
import { CHANNEL_MEMBERS } from "../../../core/sensors/channel-members.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import { type Control, type FormField, newId, resolved } from "../../../dashboard/setup-schema.ts";
import { objectControl } from "./setup-form.ts";
import { channelTitle } from "./setup-words.ts";

interface ChannelRow {
  readonly name: string;
  readonly box: HTMLInputElement;
  readonly part: Control;
}

/** @param kindsNow the kinds currently selected in the form */
export function channelsControl(
  { schema, value, path, context }: Omit<FormField, "name">,
  kindsNow: () => readonly unknown[],
): Control & { readonly kindsChanged: () => void } {
  const item = resolved(Object.values(schema.patternProperties ?? {})[0] ?? {}, context.whole);
  const rows = h("div", { class: "set-rows" });
  // Input for a channel is kept while its kind is deselected.
  const known = new Map<string, unknown>(Object.entries(isJsonObject(value) ? value : {}));
  const listed = new Set(known.keys());
  let shown: ChannelRow[] = [];

  const keep = (): void => {
    for (const { name, box, part } of shown) {
      known.set(name, part.read() ?? {});
      if (box.checked) listed.add(name);
      else listed.delete(name);
    }
  };
  const show = (): void => {
    context.places.drop(`${path}.`);
    const kinds = kindsNow();
    shown = [...membersByName(kinds)].map(([name, members]) => {
      const box = h("input", { id: newId(), type: "checkbox", "data-path": `${path}.${name}` });
      box.checked = listed.has(name);
      const part = objectControl(
        { schema: item, value: known.get(name), path: `${path}.${name}`, name, context },
        { isBare: true, only: ["name", ...members] },
      );
      const follow = (): void => {
        part.root.hidden = !box.checked;
      };
      box.addEventListener("change", follow);
      follow();
      return { name, box, part };
    });
    replace(
      rows,
      ...shown.map(({ name, box, part }) => {
        const fault = h("p", { class: "fault-text" });
        const root = h(
          "div",
          { class: "set-channel", role: "group", "aria-label": channelTitle(name) },
          h("div", { class: "set-check" }, box, h("label", { for: box.id }, channelTitle(name))),
          fault,
          part.root,
        );
        context.places.add(`${path}.${name}`, { root, control: box, text: fault });
        return root;
      }),
      shown.length === 0 &&
        h(
          "p",
          { class: "hint" },
          kinds.length === 0 ? "Choose the kinds first." : "The selected kinds have no channels.",
        ),
    );
  };
  show();
  const fault = h("p", { class: "fault-text", tabindex: -1 });
  const root = h(
    "fieldset",
    { class: "set-group" },
    h("legend", null, schema.title ?? "Channels"),
    schema.description !== undefined && h("p", { class: "hint" }, schema.description),
    fault,
    rows,
  );
  context.places.add(path, { root, control: fault, text: fault });
  return {
    root,
    kindsChanged: () => {
      keep();
      show();
    },
    read: () => {
      const made: Record<string, JsonObject> = {};
      for (const { name, box, part } of shown) {
        const read = part.read();
        if (box.checked) made[name] = isJsonObject(read) ? read : {};
      }
      return Object.keys(made).length === 0 ? undefined : made;
    },
  };
}

/** Two kinds may share a channel: it has the members of both. */
function membersByName(kinds: readonly unknown[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const kind of kinds) {
    const polled = POLLED_KINDS.find((one) => one === kind);
    if (polled === undefined) continue;
    const channels = CHANNEL_MEMBERS[polled];
    for (let n = 1; n <= channels.count; n++) {
      const name = `${channels.word}${n}`;
      found.set(name, [...new Set([...(found.get(name) ?? []), ...channels.members])]);
    }
  }
  return found;
}
