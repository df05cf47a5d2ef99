/** When values of a machine will reach their limits. */
import { textAsRead } from "../../../core/read-units.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import type { Model } from "../../../dashboard/model.ts";
import { linkTo } from "../../../dashboard/place-link.ts";
import type { MachineSection } from "../../../dashboard/section.ts";
import { sensorName } from "../../../dashboard/sensor-filter.ts";
import { unitsKept } from "../../../dashboard/units-kept.ts";
import { valueWords } from "../../../dashboard/words.ts";
import type { MachineOutlook } from "../rules/words.ts";

export const outlookSection: MachineSection = ({ api, model }, machine) => {
  const list = h("ul", { class: "alarms" });
  const root = h(
    "section",
    { class: "panel", "aria-labelledby": "machine-outlook", hidden: true },
    h("h2", { id: "machine-outlook" }, "Outlook"),
    list,
  );
  api.get<MachineOutlook>(`machines/${machine}/outlook`, {}).then(
    ({ values }) => {
      root.hidden = values.length === 0;
      // What will reach a limit first, then the rest by name.
      const told = [...values].sort((a, b) =>
        (a.outlook?.from ?? "9").localeCompare(b.outlook?.from ?? "9"),
      );
      replace(list, ...told.map((one) => outlookItem(model, one)));
    },
    // Without it, the page has no such section.
    () => {},
  );
  return { root };
};

function outlookItem(
  model: Model,
  { sensor: code, value, text }: MachineOutlook["values"][number],
): HTMLElement {
  const sensor = model.sensors.get(code);
  // Velocities and bands, both of an acceleration sensor's channels.
  const { channelLabel, quantityLabel } = valueWords(sensor ?? { channels: {} }, "accel", value);
  return h(
    "li",
    null,
    h("a", { href: linkTo("sensor", code) }, sensor === undefined ? code : sensorName(sensor)),
    ` ${channelLabel} ${quantityLabel}: ${textAsRead(text, unitsKept())}`,
  );
}
