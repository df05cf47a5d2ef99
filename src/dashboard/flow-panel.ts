/** The data flow: one line while gateway, buffer and uplinks are well, else its picture. */
import { type Cleanup, h, oncePerFrame, setAttribute, setText } from "./dom.ts";
import { flowPicture, flowWords } from "./flow.ts";
import { boxFaultsOf } from "./header-state.ts";
import type { Model } from "./model.ts";

/** Subjects of faults that have a place in the picture. */
const STATIONS = new Set(["gateway", "broker", "buffer"]);

export function flowPanel(model: Model): { readonly root: HTMLElement; readonly stop: Cleanup } {
  const picture = flowPicture(model);
  const words = h("span", { class: "flow-words" }, "…");
  const button = h(
    "button",
    {
      type: "button",
      class: "quiet",
      "aria-expanded": "false",
      "aria-controls": "flow-picture",
      click: () => {
        isOpen = !isOpen;
        show();
      },
    },
    "Show",
  );
  const root = h(
    "section",
    { class: "panel flow-panel", "aria-labelledby": "flow-line-title" },
    h(
      "div",
      { class: "flow-line" },
      h("h2", { id: "flow-line-title" }, "Data flow"),
      words,
      button,
    ),
    h("div", { id: "flow-picture" }, picture.root),
  );
  let isOpen = false;
  const show = (): void => {
    const faults = boxFaultsOf(model.faults, model.agentNowMs());
    const isFaulty = faults.some(({ subject }) => STATIONS.has(subject));
    const isShown = isOpen || isFaulty;
    setText(words, isFaulty ? "needs attention" : flowWords(model) || "…");
    setAttribute(picture.root, "hidden", !isShown);
    setAttribute(button, "hidden", isFaulty);
    setAttribute(button, "aria-expanded", String(isShown));
    setText(button, isShown ? "Hide" : "Show");
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return {
    root,
    stop: () => {
      unsubscribe();
      picture.stop();
    },
  };
}
