/** Says once in a browser that conditions of machines can be published, where no uplink has them. */
import { type Cleanup, h, oncePerFrame } from "./dom.ts";
import type { Model } from "./model.ts";

const KEY = "gateside.machines-hint";

export function machinesHint(model: Model): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const root = h(
    "section",
    { class: "panel", "aria-label": "Machines for other systems", hidden: true },
    h(
      "p",
      null,
      "SCADA, Home Assistant and a fleet's database can have the condition of each machine too: PUBLISH_MACHINES=true. ",
      h("a", { href: "manual/mqtt.html#machines" }, "What is sent"),
      " ",
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          click: () => {
            keepTold();
            show();
          },
        },
        "Do not show again",
      ),
    ),
  );
  const show = (): void => {
    root.hidden = isTold() || !isOffered(model);
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return { root, stop: unsubscribe };
}

function isOffered({ status, machines }: Model): boolean {
  if (status === null || status.alarms === null || !machines?.some(({ id }) => id !== null))
    return false;
  return status.links.length > 0 && status.links.every((link) => link.machines === false);
}

function isTold(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

function keepTold(): void {
  try {
    localStorage.setItem(KEY, "told");
  } catch {
    // Storage may be disabled: it is told again.
  }
}
