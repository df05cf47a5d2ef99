/** How long each certificate lasts; hidden if there are none. */
import { certificateTitle, endingText } from "../core/certificate.ts";
import { type Cleanup, h, oncePerFrame, replace, setAttribute } from "./dom.ts";
import { toneIcon } from "./marks.ts";
import type { Model } from "./model.ts";

const TONES = { valid: "ok", ending: "warn", ended: "bad" } as const;

export function certificatesPanel(model: Model): {
  readonly root: HTMLElement;
  readonly stop: Cleanup;
} {
  const list = h("ul", { class: "detail" });
  const root = h(
    "section",
    { class: "panel certificates", "aria-labelledby": "certificates-title", hidden: true },
    h("h2", { id: "certificates-title" }, "Certificates"),
    list,
  );
  let shown = "";
  const show = (): void => {
    const certificates = model.status?.certificates ?? [];
    setAttribute(root, "hidden", certificates.length === 0);
    const lines = certificates.map((one) => `${certificateTitle(one)} ${endingText(one)}`);
    if (lines.join("\n") === shown) return;
    shown = lines.join("\n");
    replace(
      list,
      ...certificates.map((one, i) => h("li", null, toneIcon(TONES[one.state]), " ", lines[i])),
    );
  };
  const unsubscribe = model.subscribe(oncePerFrame(show));
  show();
  return { root, stop: unsubscribe };
}
