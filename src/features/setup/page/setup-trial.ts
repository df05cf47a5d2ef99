/** Tests before saving: one read of a sensor, one session of an uplink. */

import type { AddressReport, ProbedState, ProbeReport } from "../../../core/configuration/setup.ts";
import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { h, replace } from "../../../dashboard/dom.ts";
import { quantity } from "../../../dashboard/format.ts";
import type { SetupFault } from "../../../dashboard/setup-file.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { choiceWords } from "../../../dashboard/words.ts";
import type { ListView } from "./setup-list.ts";

/** The agent gives up earlier, and says so. */
const TRIAL_MAX_MS = 60_000;

interface States {
  readonly reads: readonly ProbedState[];
}
interface Tried {
  readonly addresses: readonly AddressReport[];
}

/** Null if it cannot be tested. */
export function trialPanel(
  view: SetupView,
  list: ListView,
  entry: () => JsonObject,
  onFaults: (faults: readonly SetupFault[]) => void,
): HTMLElement | null {
  if (list.one !== "sensor" && list.one !== "uplink") return null;
  const isSensor = list.one === "sensor";
  const out = h("div", { class: "set-trial-out", role: "status" });
  const button = h(
    "button",
    { type: "button", disabled: !view.about.mayChange, click: () => void attempt() },
    isSensor ? "Read it once" : "Try the connection",
  );
  const attempt = async (): Promise<void> => {
    button.disabled = true;
    replace(out, h("p", { class: "hint" }, isSensor ? "Querying the gateway …" : "Connecting …"));
    try {
      const kinds = entry()["kinds"];
      const results = isSensor
        ? await probes(view, entry(), Array.isArray(kinds) ? kinds.map(String) : [])
        : [
            await view.api.send(
              "POST",
              "setup/uplinks/test",
              { uplink: entry() },
              { timeoutMs: TRIAL_MAX_MS },
            ),
          ];
      const faults = results.flatMap(({ status, body }) =>
        status === 422 ? (body as { readonly faults: readonly SetupFault[] }).faults : [],
      );
      if (faults.length > 0) {
        replace(
          out,
          h("p", { class: "fault-text" }, "Nothing was tried: correct the marked fields."),
        );
        return onFaults(faults);
      }
      replace(out, ...results.flatMap((result) => shownResponse(result, isSensor)));
    } catch (error) {
      replace(out, h("p", { class: "fault-text" }, messageOf(error)));
    } finally {
      button.disabled = false;
    }
  };
  return h(
    "section",
    { class: "set-trial", "aria-label": isSensor ? "Try the sensor" : "Try the uplink" },
    h("p", { class: "set-actions" }, button),
    h(
      "p",
      { class: "hint" },
      isSensor
        ? "Reads today's records of this sensor from the gateway, with the entries in this form. Nothing is stored or published."
        : "Opens a session at each address and closes it again. Nothing is published.",
    ),
    out,
  );
}

type TrialResponse = { readonly status: number; readonly body: unknown };

/** One after the other, to spare the gateway. */
async function probes(
  view: SetupView,
  sensor: JsonObject,
  kinds: readonly string[],
): Promise<TrialResponse[]> {
  const results: TrialResponse[] = [];
  const stateReads = sensor["stateReads"];
  for (const kind of kinds.length === 0 ? ["rpm"] : kinds) {
    const body = { sensor, kind };
    const result = await view.api.send("POST", "setup/probe", body, { timeoutMs: TRIAL_MAX_MS });
    results.push({
      status: result.status,
      body: isJsonObject(result.body) ? { ...result.body, kind } : result.body,
    });
    if (result.status !== 200) return results;
  }
  if (Array.isArray(stateReads) && stateReads.length > 0) {
    const timeoutMs = TRIAL_MAX_MS;
    results.push(await view.api.send("POST", "setup/probe/states", { sensor }, { timeoutMs }));
  }
  return results;
}

function shownResponse({ status, body }: TrialResponse, isSensor: boolean): HTMLElement[] {
  if (status !== 200) return [h("p", { class: "fault-text" }, refusalText(body))];
  if (!isSensor) return shownTried(body as Tried);
  const probed = body as (ProbeReport & { readonly kind: string }) | States;
  return "reads" in probed ? probed.reads.flatMap(shownState) : shownProbe(probed);
}

function shownState({ source, time, values, error }: ProbedState): HTMLElement[] {
  if (error !== null) return [h("p", { class: "fault-text" }, `${source}: ${error}`)];
  return [
    h("p", { class: "set-good" }, `${source}: state ${time ?? "without its own time"}`),
    valueTable(
      source,
      values.map(({ name, value, unit, quality, otherOrder }) => {
        const text = typeof value === "number" ? quantity(value, unit) : String(value);
        const swapped =
          otherOrder === undefined ? "" : `; with the words swapped ${String(otherOrder)}`;
        return [name, text, quality + swapped];
      }),
    ),
  ];
}

function valueTable(
  what: string,
  rows: readonly (readonly [name: string, value: string, quality: string])[],
): HTMLElement {
  const lines = rows.map(([name, ...rest]) =>
    h("tr", null, h("th", { scope: "row" }, name), ...rest.map((text) => h("td", null, text))),
  );
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `Values of ${what}` },
    h("table", { class: "plain" }, h("tbody", null, ...lines)),
  );
}

function shownTried({ addresses }: Tried): HTMLElement[] {
  return addresses.map(({ url, ok, detail }) =>
    h("p", { class: ok ? "set-good" : "fault-text" }, `${url}: ${detail}`),
  );
}

function shownProbe({
  kind,
  day,
  records,
  error,
  reading,
  messages,
}: ProbeReport & { readonly kind: string }): HTMLElement[] {
  if (error !== null) return [h("p", { class: "fault-text" }, `${choiceWords(kind)}: ${error}`)];
  const head = h(
    "p",
    { class: reading === null ? "set-note" : "set-good" },
    `${choiceWords(kind)}: ${records} records of ${day}${reading === null ? "; the gateway responds but has no usable record for that day. Check the code and the type." : `, the newest of ${reading.time}`}`,
  );
  if (reading === null) return [head];
  const rows = Object.entries(reading.values).map(([name, value]): [string, string, string] => {
    const doubt = reading.quality[name];
    const words = isJsonObject(doubt)
      ? `${String(doubt["quality"])} (${String(doubt["reason"])})`
      : "good";
    const text =
      typeof value === "number" ? quantity(value, reading.units[name] ?? null) : String(value);
    return [name, text, words];
  });
  return [
    head,
    valueTable(choiceWords(kind), rows),
    h(
      "details",
      null,
      h("summary", null, `What would be published (${messages.length})`),
      ...messages.map(({ topic, payload }) =>
        h("p", { class: "set-message" }, topic, h("br"), payload),
      ),
    ),
  ];
}
