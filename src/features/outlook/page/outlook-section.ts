/** When values of a machine will reach their limits. */
import { grouped } from "../../../core/lists/grouped.ts";
import { textAsRead } from "../../../core/read-units.ts";
import { messageOf } from "../../../core/thrown.ts";
import { HOUR_MS } from "../../../core/time-units.ts";
import { h, keptList, setText } from "../../../dashboard/dom.ts";
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
    h("h2", { id: "machine-outlook" }, "When limits will be reached"),
    note,
    list,
  );
  const items = keptList<Alike>(
    list,
    (alike) => alike.map(({ sensor, value }) => `${sensor} ${value}`).join(),
    (alike) => outlookItem(model, alike),
  );
  let told: Alike = [];
  let hasFailed = false;
  const show = (): void => {
    items([...grouped(told, ({ text }) => text).values()]);
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
      setText(note, `It could not be read: ${messageOf(error)}`);
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

type Alike = MachineOutlook["values"];

/** Values of which the same is to be said share an entry. */
function outlookItem(model: Model, alike: Alike) {
  const bySensor = grouped(alike, ({ sensor }) => sensor);
  const parts = [...bySensor].map(([code, values], at) => {
    const [link, names] = [h("a", { href: linkTo("sensor", code) }), h("span")];
    const show = (): void => {
      setText(link, nameInSite(model, code));
      setText(names, ` ${values.map(({ value }) => valueName(model, code, value)).join(", ")}`);
    };
    return { root: h("span", null, at > 0 && "; ", link, names), show };
  });
  const text = h("span");
  return {
    root: h("li", null, ...parts.map(({ root }) => root), text),
    update([first]: Alike): void {
      for (const { show } of parts) show();
      setText(text, `: ${textAsRead(first?.text ?? "", unitsKept())}`);
    },
  };
}

/** Of velocities and bands, both of an acceleration sensor's channels. */
function valueName(model: Model, code: string, value: string): string {
  const sensor = model.sensors.get(code) ?? { channels: {} };
  const { channelLabel, quantityLabel } = valueWords(sensor, "accel", value);
  return `${channelLabel} ${quantityLabel}`;
}
