/** The last ten files that were replaced here: their differences, and how to restore them. */
import { messageOf } from "../core/thrown.ts";
import { refusalText } from "./api.ts";
import { h, replace } from "./dom.ts";
import { timeNode } from "./marks.ts";
import { backupSection } from "./setup-backup.ts";
import { differenceLines } from "./setup-difference.ts";
import { type FilePart, SetupFile } from "./setup-file.ts";
import type { SetupView } from "./setup-view.ts";

interface Version {
  readonly version: number;
  readonly replacedAtMs: number;
  readonly replacedBy: string;
}

export async function versionsView(view: SetupView): Promise<void> {
  const parts: readonly FilePart[] = view.about.uplinks === null ? ["site"] : ["site", "uplinks"];
  const sections = await Promise.all(parts.map((part) => section(view, part)));
  if (view.signal.aborted) return;
  replace(view.place, ...sections, view.about.mayChange && backupSection(view));
}

const pathOf = (part: FilePart) => `setup/${part === "site" ? "" : "uplinks/"}versions`;

async function section(view: SetupView, part: FilePart): Promise<HTMLElement> {
  const [file, { status, body }] = await Promise.all([
    SetupFile.load(view.api, part),
    view.api.send<{ readonly versions: readonly Version[] }>("GET", pathOf(part)),
  ]);
  if (status !== 200) throw new Error(refusalText(body));
  const id = `versions-${part}`;
  return h(
    "section",
    { "aria-labelledby": id },
    h("h2", { id }, part === "site" ? "Site file" : "Uplinks file"),
    body.versions.length === 0
      ? h("p", { class: "empty" }, "No versions yet.")
      : h(
          "ul",
          { class: "set-list" },
          ...body.versions.map((version) => item(view, file, version)),
        ),
  );
}

function item(
  view: SetupView,
  file: SetupFile,
  { version, replacedAtMs, replacedBy }: Version,
): HTMLElement {
  const out = h("div", { role: "status" });
  const name = `version ${version}`;
  const show = async (): Promise<void> => {
    const { status, body } = await view.api.send<{
      readonly site?: unknown;
      readonly content?: unknown;
    }>("GET", `${pathOf(file.part)}/${version}`);
    if (status !== 200) return showText(refusalText(body));
    const lines = differenceLines(file.content, file.part === "site" ? body.site : body.content);
    const back = h(
      "button",
      {
        type: "button",
        class: "set-danger",
        disabled: !view.about.mayChange,
        click: () => void restore(),
      },
      `Restore ${name}`,
    );
    replace(
      out,
      h("p", null, "Restoring it would change:"),
      h(
        "ul",
        { class: "set-faults" },
        ...(lines.length === 0 ? ["only its layout"] : lines).map((line) => h("li", null, line)),
      ),
      h("p", { class: "set-actions" }, back),
    );
  };
  const showText = (text: string): void => replace(out, h("p", { class: "fault-text" }, text));
  const restore = async (): Promise<void> => {
    const saved = await file.restore(view.api, version);
    if (saved.outcome === "saved")
      return view.go("versions", `Version ${version} is restored and in effect.`);
    if (saved.outcome === "changed")
      return showText(
        "Someone else changed the file in the meantime. Open this page again to see the changes.",
      );
    if (saved.outcome === "refused") return showText(saved.message);
    showText(
      `It is no longer valid: ${saved.faults.map(({ place, problem }) => `${place} ${problem}`).join(" · ")}`,
    );
  };
  const attempt = (work: () => Promise<void>) => () =>
    void work().catch((error: unknown) => showText(messageOf(error)));
  return h(
    "li",
    { "data-version": version },
    h(
      "span",
      null,
      `Version ${version}, replaced `,
      timeNode(view.model, replacedAtMs, "full"),
      ` by ${replacedBy}`,
    ),
    h("button", { type: "button", click: attempt(show) }, `Compare with ${name}`),
    out,
  );
}
