/** Finds sensors at an analytics service with a login, and adds the selected ones. */

import { isJsonObject, type JsonObject } from "../../../core/record.ts";
import { POLLED_KINDS } from "../../../core/sensor.ts";
import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { attempt } from "../../../dashboard/attempt.ts";
import { h, replace, setText } from "../../../dashboard/dom.ts";
import { numberOrText } from "../../../dashboard/setup-controls.ts";
import { entriesOf } from "../../../dashboard/setup-difference.ts";
import { SetupFile } from "../../../dashboard/setup-file.ts";
import { newId, wordOf } from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { choiceWords } from "../../../dashboard/words.ts";
import type { DiscoveryDraft, DiscoveryState } from "../rules/shown.ts";
import { field, loginForm } from "./login-form.ts";

const LOOK_EVERY_MS = 1_000;

/** Its sensors are objects of the site file. */
type SensorDraft = Omit<DiscoveryDraft, "sensors"> & { readonly sensors: readonly JsonObject[] };

export async function discoverView(view: SetupView): Promise<void> {
  const { status, body } = await view.api.read<DiscoveryState>("setup/discover", view.signal);
  if (view.signal.aborted) return;
  if (status !== 200) throw new Error(refusalText(body));
  if (!view.about.isNamed) {
    return replace(
      view.place,
      h("p", null, h("a", { href: "#/setup" }, "Name the site"), " first."),
    );
  }
  if (body.state === "running") return wait(view);
  if (body.state === "found") return new DraftView(view).load();
  replace(
    view.place,
    loginForm(view, body.state === "failed" ? body.detail : "", () => wait(view)),
  );
}

async function wait(view: SetupView): Promise<void> {
  const text = h("p", { role: "status" }, "Logging in …");
  replace(view.place, text);
  while (!view.signal.aborted) {
    try {
      const { status, body } = await view.api.read<DiscoveryState>("setup/discover", view.signal);
      if (view.signal.aborted) return;
      if (status !== 200) throw new Error(refusalText(body));
      if (body.state === "found") return await new DraftView(view).load();
      if (body.state !== "running")
        return replace(
          view.place,
          loginForm(view, body.detail, () => wait(view)),
        );
      setText(text, `Querying the service: ${body.detail} …`);
    } catch (error) {
      // The search goes on, and so does this page.
      setText(text, `Its progress could not be read: ${messageOf(error)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** What was found, what a person must add, and which sensors go into the file. */
class DraftView {
  readonly #view: SetupView;
  readonly #kinds = new Map<number, HTMLSelectElement>();
  readonly #clamp = h(
    "select",
    null,
    ...["", "50", "100", "250", "500"].map((value) =>
      h("option", { value }, value === "" ? "–" : `${value} A`),
    ),
  );
  readonly #unit = h("input", { autocomplete: "off" });
  readonly #low = h("input", { inputmode: "decimal" });
  readonly #high = h("input", { inputmode: "decimal" });
  readonly #machineClass = h("select", null, h("option", { value: "" }, "–"));
  readonly #machine = h("input", { inputmode: "numeric" });
  readonly #list = h("div");
  readonly #fault = h("p", { class: "fault-text", role: "alert" });
  #found: { readonly box: HTMLInputElement; readonly sensor: JsonObject }[] = [];

  constructor(view: SetupView) {
    this.#view = view;
  }

  async load(): Promise<void> {
    const draft = await this.#draft();
    if (this.#view.signal.aborted) return;
    const types = draft.types.map(({ type, count, example }) => {
      const select = h(
        "select",
        null,
        h("option", { value: "" }, "–"),
        ...POLLED_KINDS.map((kind) => h("option", { value: kind }, choiceWords(kind))),
      );
      this.#kinds.set(type, select);
      return field(`Type ${type} (${count}, such as ${example}) reads`, select);
    });
    const site = this.#view.schemas.site;
    const classes = site.definitions?.["sensor"]?.properties?.["machineClass"]?.enum ?? [];
    this.#machineClass.append(
      ...classes.map((one) => h("option", { value: one }, choiceWords(String(one)))),
    );
    // A form: what was typed is kept when the session ends.
    const form = h(
      "form",
      {
        class: "set-place",
        "aria-label": "Sensors that were found",
        submit: (event: Event) => event.preventDefault(),
      },
      h(
        "details",
        { class: "set-group", open: draft.left > 0 },
        h("summary", null, "What the service does not know"),
        ...types,
        field(
          "Clamp of every current channel",
          this.#clamp,
          "Correct those that differ in the sensor's form.",
        ),
        field("Unit of every loop channel", this.#unit),
        field("Value at 4 mA", this.#low),
        field("Value at 20 mA", this.#high),
        field(
          "Machine class of every vibration sensor",
          this.#machineClass,
          "Without one, no zone and no zone alarm ever comes from it. Correct those that differ in the sensor's form.",
        ),
        field(
          "Number of the machine",
          this.#machine,
          "For sensors that the service assigns to none. Without a machine, no finding ever comes.",
        ),
        h(
          "p",
          { class: "set-actions" },
          h(
            "button",
            { type: "button", click: this.#attempt(() => this.#again()) },
            "Apply to the list",
          ),
        ),
      ),
      this.#list,
      this.#fault,
      h(
        "p",
        { class: "set-actions" },
        h(
          "button",
          {
            type: "button",
            class: "set-main",
            disabled: !this.#view.about.mayChange,
            click: this.#attempt(() => this.#add()),
          },
          "Add the selected sensors",
        ),
        h(
          "button",
          {
            type: "button",
            click: () =>
              replace(
                this.#view.place,
                loginForm(this.#view, "", () => wait(this.#view)),
              ),
          },
          "Search again",
        ),
      ),
    );
    replace(this.#view.place, form);
    this.#show(draft);
  }

  async #draft(): Promise<SensorDraft> {
    const kinds = Object.fromEntries(
      [...this.#kinds].flatMap(([type, { value }]) => (value === "" ? [] : [[type, [value]]])),
    );
    const isLoop =
      this.#unit.value.trim() !== "" && this.#low.value !== "" && this.#high.value !== "";
    const hints = {
      kinds,
      ...(this.#clamp.value !== "" && { clamp: numberOrText(this.#clamp.value) }),
      ...(isLoop && {
        loop: {
          unit: this.#unit.value.trim(),
          low: numberOrText(this.#low.value),
          high: numberOrText(this.#high.value),
        },
      }),
    };
    const { status, body } = await this.#view.api.send<SensorDraft>(
      "POST",
      "setup/discover/draft",
      hints,
    );
    if (status !== 200) throw new Error(refusalText(body));
    return body;
  }

  #attempt(work: () => Promise<void>): () => void {
    return attempt(work, (why) => void setText(this.#fault, why));
  }

  async #again(): Promise<void> {
    this.#show(await this.#draft());
  }

  #show({ sensors, kept, left, notes }: SensorDraft): void {
    this.#found = sensors.map((sensor) => {
      const box = h("input", { type: "checkbox", id: newId() });
      box.checked = true;
      return { box, sensor };
    });
    replace(
      this.#list,
      h(
        "p",
        { role: "status" },
        `${sensors.length + kept + left} sensors were found. ${sensors.length} can be added${left === 0 ? "" : `; ${left} more once it is said above what they read`}; ${kept} are in the site file already.`,
      ),
      h(
        "ul",
        { class: "set-list" },
        ...this.#found.map(({ box, sensor }) =>
          h(
            "li",
            { class: "set-check" },
            box,
            h(
              "label",
              { for: box.id },
              `${wordOf(sensor["name"])} ${String(sensor["code"])}`.trim(),
            ),
            h(
              "span",
              { class: "sub" },
              `${(sensor["kinds"] as readonly string[]).map(choiceWords).join(", ")}${placeWords(sensor)}`,
            ),
          ),
        ),
      ),
      notes.length > 0 && h("h2", null, "Please check"),
      notes.length > 0 &&
        h("ul", { class: "set-faults" }, ...notes.map((note) => h("li", null, note))),
    );
  }

  /** With what zones and findings need. @param point its number, if the service has none */
  #watched(sensor: JsonObject, point: number): JsonObject {
    const machine = this.#machine.value.trim();
    const isVibration = Array.isArray(sensor["kinds"]) && sensor["kinds"].includes("accel");
    return {
      ...sensor,
      ...(isVibration &&
        this.#machineClass.value !== "" && { machineClass: this.#machineClass.value }),
      ...(machine !== "" &&
        sensor["location"] === undefined && {
          location: { company: 1, area: 1, machine: numberOrText(machine), point },
        }),
    };
  }

  async #add(): Promise<void> {
    const { api, signal } = this.#view;
    const chosen = this.#found
      .filter(({ box }) => box.checked)
      .map(({ sensor }, at) => this.#watched(sensor, at + 1));
    // Read again now, so that concurrent additions by others stay.
    const file = await SetupFile.load(api, "site", signal);
    const sensors = [...entriesOf(file.content, "sensors"), ...chosen];
    const saved = await file.save(api, { ...file.content, sensors });
    if (saved.outcome === "saved")
      return this.#view.go("sensors", `${chosen.length} sensors: saved and in effect.`);
    setText(
      this.#fault,
      saved.outcome === "faults"
        ? `Not saved: ${saved.faults.map(({ place, problem, remedy }) => `${place}: ${problem}; ${remedy}`).join(" · ")}`
        : saved.outcome === "refused"
          ? `Not saved: ${saved.message}`
          : "Not saved: the file was changed in the meantime. Try again.",
    );
  }
}

function placeWords({ location }: JsonObject): string {
  const names = isJsonObject(location) ? location["names"] : null;
  return isJsonObject(names)
    ? ` · ${[names["area"], names["machine"], names["point"]].filter(Boolean).join(", ")}`
    : "";
}
