/** Stations, pipes and the tank of the picture of the data flow. */
import { h, replace, s, setAttribute, setText } from "./dom.ts";
import { type BadgeTone, toneIcon } from "./marks.ts";

export type FlowState = "flowing" | "idle" | "broken" | "held" | "unknown";

export const ICONS = {
  sensors: "M6 20v-7M6 9V8M12 20V10M12 6V5M18 20v-4M18 12v-1M3 20h18",
  gateway: "M4 14h16v6H4zM8 17h.01M12 17h.01M12 14V9M8.5 8.5a5 5 0 017 0M6 5.5a8.6 8.6 0 0112 0",
  broker:
    "M12 9a3 3 0 100 6 3 3 0 000-6zM12 9V4M9.4 13.5L5 16.5M14.6 13.5l4.4 3M12 4h.01M5 16.5h.01M19 16.5h.01",
} as const;

export interface Station {
  readonly root: HTMLElement;
  show(tone: BadgeTone, state: string, lines: readonly (string | Node)[]): void;
}

export function station(title: string, picture: Element): Station {
  const state = h("p", { class: "state" });
  const detail = h("ul", { class: "detail" });
  const mark = h("span", { class: "mark" });
  const root = h(
    "div",
    { class: "station" },
    h("div", { class: "picture" }, picture),
    h("div", { class: "words" }, h("h3", null, title, mark), state, detail),
  );
  let known = "";
  return {
    root,
    show(tone, text, lines) {
      setAttribute(root, "data-tone", tone);
      setText(state, text);
      const wanted = lines.filter((line) => line !== "");
      const key = `${tone}|${wanted.map((line) => (typeof line === "string" ? line : line.textContent)).join("|")}`;
      if (key === known) return;
      known = key;
      replace(mark, toneIcon(tone));
      replace(detail, ...wanted.map((line) => h("li", null, line)));
    },
  };
}

export interface Pipe {
  readonly root: HTMLElement;
  /** `origin` is the position of the picture, `hint` is shown on hover. */
  show(
    state: FlowState,
    label: string,
    perS: number,
    more?: { readonly origin: string; readonly hint: string },
  ): void;
}

const PIPE_WORDS: Readonly<Record<FlowState, string>> = {
  flowing: "flowing",
  idle: "nothing to move",
  broken: "interrupted",
  held: "held back",
  unknown: "not known",
};

/** Drawn horizontally and vertically; the style sheet shows the one that fits the width. */
export function pipe(): Pipe {
  const label = h("span", { class: "pipe-label" });
  const from = h("span", { class: "pipe-origin" });
  const words = h("span", { class: "pipe-state" });
  const cross = s("path", { class: "cross", d: "M-7-7l14 14M7-7l-14 14" });
  const picture = s(
    "svg",
    {
      class: "pipe-picture",
      viewBox: "0 0 100 24",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    s("line", { class: "bed", x1: 0, y1: 12, x2: 100, y2: 12 }),
    s("line", { class: "stream", x1: 0, y1: 12, x2: 100, y2: 12 }),
  );
  const head = s(
    "svg",
    { class: "pipe-head", viewBox: "-12 -12 24 24", "aria-hidden": "true" },
    s("path", { class: "arrow", d: "M-6-8L6 0l-12 8z" }),
    cross,
  );
  const root = h(
    "div",
    { class: "pipe" },
    h("div", { class: "pipe-line" }, picture, head),
    words,
    label,
    from,
  );
  return {
    root,
    show(state, text, perS, { origin, hint } = { origin: "", hint: "" }) {
      setText(from, origin);
      setAttribute(label, "title", hint === "" || text === "" ? null : hint);
      setAttribute(root, "data-flow", state);
      setText(label, text);
      setText(words, PIPE_WORDS[state]);
      // From slow to fast; the animation shows more or less, the label shows how much.
      const seconds = Math.min(3, Math.max(0.5, 1.6 - 0.45 * Math.log10(Math.max(0.02, perS))));
      root.style.setProperty("--flow-time", `${seconds.toFixed(1)}s`);
    },
  };
}

export function icon(path: string): SVGElement {
  return s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: path }));
}

export interface Tank {
  readonly root: SVGElement;
  show(share: number): void;
}

/** A vessel whose level is the share of the buffer in use. */
export function tankPicture(): Tank {
  const level = s("rect", { class: "level", x: 4, width: 16, y: 21, height: 0 });
  const root = s(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true" },
    level,
    s("path", { d: "M4 5v14c0 1.4 3.6 2.5 8 2.5s8-1.1 8-2.5V5" }),
    s("ellipse", { cx: 12, cy: 5, rx: 8, ry: 2.5 }),
  );
  return {
    root,
    show(share) {
      // A little stays visible, so that it is recognised as a level.
      const height = 1 + 14.5 * Math.min(1, Math.max(0, share));
      setAttribute(level, "y", (20.5 - height).toFixed(2));
      setAttribute(level, "height", height.toFixed(2));
    },
  };
}
