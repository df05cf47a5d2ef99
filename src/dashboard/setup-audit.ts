/** Who changed what and when, newest first. */
import type { AuditPage, StoredAuditEntry } from "../core/audit.ts";
import { refusalText } from "./api.ts";
import { attempt } from "./attempt.ts";
import { h, replace, setText } from "./dom.ts";
import { timeNode } from "./marks.ts";
import type { SetupView } from "./setup-view.ts";

export async function auditView(view: SetupView): Promise<void> {
  const list = h("ul", { class: "set-list" });
  const fault = h("p", { class: "fault-text", role: "alert" });
  const more = h(
    "button",
    {
      type: "button",
      click: attempt(
        () => load(),
        (why) => setText(fault, why),
      ),
    },
    "Show older",
  );
  let before: number | null = null;
  const load = async (): Promise<void> => {
    const { status, body } = await view.api.send<AuditPage>(
      "GET",
      `audit?limit=100${before === null ? "" : `&before=${before}`}`,
    );
    if (status !== 200) throw new Error(refusalText(body));
    list.append(...body.entries.map((entry) => item(view, entry)));
    before = body.before;
    more.hidden = before === null;
  };
  await load();
  if (view.signal.aborted) return;
  replace(
    view.place,
    list.childElementCount === 0 ? h("p", { class: "empty" }, "No changes yet.") : list,
    fault,
    more,
  );
}

function item(
  { model }: SetupView,
  { timeMs, who, person, address, what, detail, outcome, times, lastTimeMs }: StoredAuditEntry,
): HTMLElement {
  const isDone = /^(2\d\d|applied|unchanged|done|accepted|queued|trial)$/.test(outcome);
  return h(
    "li",
    null,
    h(
      "span",
      null,
      timeNode(model, timeMs, "full"),
      ` ${person === null ? who : `${person} (${who})`}${address === "" ? "" : ` from ${address}`}`,
      times > 1 && `, ${times} times until `,
      times > 1 && timeNode(model, lastTimeMs, "full"),
    ),
    h(
      "span",
      { class: "sub" },
      `${what}${detail === "" ? "" : `: ${detail}`} · ${isDone ? "done" : `refused or failed (${outcome})`}`,
    ),
  );
}
