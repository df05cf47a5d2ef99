/** When values of a machine will reach their limits. */
import { textAsRead } from "../../../core/read-units.ts";
import { messageOf } from "../../../core/thrown.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import { h, replaceAnew, setText } from "../../../dashboard/dom.ts";
import { nameInSite } from "../../../dashboard/machine-words.ts";
import type { Model } from "../../../dashboard/model.ts";
import { linkTo } from "../../../dashboard/place-link.ts";
import { Refresh } from "../../../dashboard/refresh.ts";
import type { MachineSection } from "../../../dashboard/section.ts";
import { unitsKept } from "../../../dashboard/units-kept.ts";
import { valueWords } from "../../../dashboard/words.ts";
import type { MachineOutlook } from "../rules/words.ts";

/** Day rows are made once an hour. */
const AGAIN_MS = HOUR_MS;

export const outlookSection: MachineSection = ({ api, model }, machine) => {
  const list = h("ul", { class: "alarms" });
  const note = h("p", { class: "hint", role: "status" });
  const root = h(
    "section",
    { class: "panel", "aria-labelledby": "machine-outlook", hidden: true },
    h("h2", { id: "machine-outlook" }, "Outlook"),
    note,
    list,
  );
  let told: MachineOutlook["values"] = [];
  let hasFailed = false;
  const show = (): void => {
    const names = told.map(({ sensor }) => nameInSite(model, sensor));
    replaceAnew(list, JSON.stringify([told, names]), () =>
      told.map((one) => outlookItem(model, one)),
    );
  };
  const refresh = new Refresh(
    async (asking) => {
      const { values } = await api.get<MachineOutlook>(`machines/${machine}/outlook`, {}, asking);
      return () => {
        hasFailed = false;
        root.hidden = values.length === 0;
        // What will reach a limit first, then the rest by name.
        told = [...values].sort((a, b) =>
          (a.outlook?.from ?? "9").localeCompare(b.outlook?.from ?? "9"),
        );
        setText(note, "");
        show();
      };
    },
    (error) => {
      hasFailed = true;
      root.hidden = false;
      setText(note, `The outlook could not be read: ${messageOf(error)}`);
    },
    { ms: AGAIN_MS, isDue: () => model.isLive && !document.hidden },
  );
  const unsubscribe = model.subscribe((change) => {
    if (change === "sensors") show();
    if (hasFailed && (change === "live" || change === "sensors")) refresh.change();
  });
  refresh.change();
  return {
    root,
    stop: () => {
      unsubscribe();
      refresh.stop();
    },
  };
};

function outlookItem(
  model: Model,
  { sensor: code, value, text }: MachineOutlook["values"][number],
): HTMLElement {
  // Velocities and bands, both of an acceleration sensor's channels.
  const { channelLabel, quantityLabel } = valueWords(
    model.sensors.get(code) ?? { channels: {} },
    "accel",
    value,
  );
  return h(
    "li",
    null,
    h("a", { href: linkTo("sensor", code) }, nameInSite(model, code)),
    ` ${channelLabel} ${quantityLabel}: ${textAsRead(text, unitsKept())}`,
  );
}
