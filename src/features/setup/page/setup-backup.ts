/** Backup of both files as one document, and its restore: shown first, then applied. */
import { refusalText } from "../../../dashboard/agent-access.ts";
import { attempt } from "../../../dashboard/attempt.ts";
import { h, replace, setText } from "../../../dashboard/dom.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";

interface Restored {
  readonly unchanged: boolean;
  readonly changes: readonly string[];
  readonly disabled: readonly string[];
  readonly nextStart: boolean;
  readonly basis: string;
}

const TRIED =
  "On trial: if connections or reads get worse, the files of before come back by themselves.";

export function backupSection(view: SetupView): HTMLElement {
  const out = h("div", { role: "status" });
  const fault = h("p", { class: "fault-text", role: "alert" });
  const failed = (why: string) => void setText(fault, why === "" ? "" : `Not done: ${why}`);
  const site = h("input", { maxlength: 64, autocomplete: "off" });
  const file = h("input", { type: "file", accept: ".json,application/json" });
  // Another choice is another restore: what was shown is no longer what would be done.
  const forget = () => replace(out);
  file.addEventListener("change", forget);
  site.addEventListener("input", forget);
  const look = async (): Promise<void> => {
    const backup = await chosen(file);
    if (backup === null) return tell(out, "Choose a file that Gateside wrote as a backup.");
    await send(backup, site.value.trim(), null);
  };
  /** @param shown the files that the changes shown were compared with; null: only shows them */
  const send = async (backup: object, name: string, shown: string | null): Promise<void> => {
    const query = new URLSearchParams({
      ...(name === "" ? {} : { site: name }),
      ...(shown === null ? { dryRun: "true" } : { basis: shown }),
    });
    const path = `setup/restore?${query.toString()}`;
    const { status, body } = await view.api.send<Restored>("POST", path, backup);
    if (status !== 200) return tell(out, refusalText(body));
    if (body.unchanged) return tell(out, "Unchanged: this box has the same files.");
    const lines = [
      ...body.changes,
      ...body.disabled.map(
        (one) => `uplink ${one} is not used, because this box lacks these secrets`,
      ),
    ];
    const list = h("ul", null, ...lines.map((line) => h("li", null, line)));
    if (shown === null) {
      const apply = h(
        "button",
        { type: "button", click: attempt(() => send(backup, name, body.basis), failed) },
        "Restore this",
      );
      return replace(out, list, apply);
    }
    replace(out, list, h("p", null, body.nextStart ? "In effect at the next start." : TRIED));
  };
  const show = attempt(look, failed);
  return h(
    "section",
    { "aria-labelledby": "backup-title" },
    h("h2", { id: "backup-title" }, "Backup"),
    h(
      "p",
      { class: "hint" },
      "Both files as one document, without secrets. Readings, baselines, alarm states, versions and the audit log are not in it.",
    ),
    h(
      "p",
      { class: "set-actions" },
      h(
        "a",
        { class: "set-button", href: "api/v1/setup/backup", download: "" },
        "Download a backup",
      ),
    ),
    h(
      "form",
      {
        class: "set-rows",
        submit: (event: Event) => {
          event.preventDefault();
          show();
        },
      },
      h("p", null, h("label", null, "Restore from ", file)),
      h("p", null, h("label", null, "Name of its site, if it is another one ", site)),
      h("button", { type: "submit" }, "Show what would change"),
    ),
    fault,
    out,
  );
}

function tell(out: HTMLElement, text: string): void {
  replace(out, h("p", null, text));
}

/** The content as JSON; null if there is none. */
async function chosen(input: HTMLInputElement): Promise<object | null> {
  try {
    const value: unknown = JSON.parse((await input.files?.[0]?.text()) ?? "null");
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
