/** Who changed what and when, newest first. */
import type { AuditPage, StoredAuditEntry } from "../../../core/audit.ts";
import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { h, replace, setText } from "../../../dashboard/dom.ts";
import { timeNode } from "../../../dashboard/marks.ts";
import { type Asking, Refresh } from "../../../dashboard/refresh.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";

export async function auditView(view: SetupView): Promise<void> {
  const list = h("ul", { class: "set-list" });
  const fault = h("p", { class: "fault-text", role: "alert" });
  const more = h(
    "button",
    {
      type: "button",
      click: () => older.change(),
    },
    "Show older",
  );
  let before: number | null = null;
  const load = async (asking: Asking): Promise<() => void> => {
    const from = before === null ? "" : `&before=${before}`;
    const { status, body } = await view.api.read<AuditPage>(`audit?limit=100${from}`, asking);
    if (status !== 200) throw new Error(refusalText(body));
    return () => show(body);
  };
  const older = new Refresh(load, (error) => void setText(fault, messageOf(error)));
  const show = (body: AuditPage): void => {
    setText(fault, "");
    list.append(...body.entries.map((entry) => item(view, entry)));
    before = body.before;
    more.hidden = before === null;
  };
  const showFirst = await load(view.signal);
  if (view.signal.aborted) return;
  showFirst();
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
