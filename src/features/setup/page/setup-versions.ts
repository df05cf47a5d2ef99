/** The last ten files that were replaced here: their differences, and how to restore them. */
import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { attempt } from "../../../dashboard/attempt.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import { timeNode } from "../../../dashboard/marks.ts";
import { Refresh } from "../../../dashboard/refresh.ts";
import { differenceLines } from "../../../dashboard/setup-difference.ts";
import { type FilePart, SetupFile } from "../../../dashboard/setup-file.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { backupSection } from "./setup-backup.ts";

interface Version {
  readonly version: number;
  readonly replacedAtMs: number;
  readonly replacedBy: string;
}

interface VersionContent {
  readonly site?: unknown;
  readonly content?: unknown;
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
    SetupFile.load(view.api, part, view.signal),
    view.api.read<{ readonly versions: readonly Version[] }>(pathOf(part), view.signal),
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
  const comparison = new Refresh(
    async (asking) => {
      const { status, body } = await view.api.read<VersionContent>(
        `${pathOf(file.part)}/${version}`,
        asking,
      );
      if (status !== 200) throw new Error(refusalText(body));
      return () => show(body);
    },
    (error) => showText(messageOf(error)),
  );
  const show = (body: VersionContent): void => {
    const lines = differenceLines(file.content, file.part === "site" ? body.site : body.content);
    const back = h(
      "button",
      {
        type: "button",
        class: "set-danger",
        disabled: !view.about.mayChange,
        click: attempt(restore, (why) => showText(why)),
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
    h("button", { type: "button", click: () => comparison.choose() }, `Compare with ${name}`),
    out,
  );
}
