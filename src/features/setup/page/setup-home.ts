/** The start of set-up: the site's name, and what exists already. */

import { messageOf } from "../../../core/thrown.ts";
import { topicLevel } from "../../../core/topics/topic-level.ts";
import { h, replace, setText } from "../../../dashboard/dom.ts";
import { entriesOf } from "../../../dashboard/setup-difference.ts";
import { SetupFile } from "../../../dashboard/setup-file.ts";
import { newId, wordOf } from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";
import { setupLinks } from "./setup-links.ts";

const NAME_MAX = 64;

export async function homeView(view: SetupView): Promise<void> {
  const { api, place, about, signal } = view;
  const file = await SetupFile.load(api, "site", signal);
  if (signal.aborted) return;
  if (!about.isNamed) return replace(place, nameForm(view, file));
  const count = entriesOf(file.content, "sensors").length;
  replace(
    place,
    h(
      "dl",
      { class: "set-facts" },
      h("dt", null, "Site"),
      h("dd", null, wordOf(file.content?.["site"])),
      h("dt", null, "Sensors in the file"),
      h("dd", null, count),
      h("dt", null, "Site file"),
      h("dd", null, about.site.path),
      h("dt", null, "Uplinks file"),
      h("dd", null, about.uplinks?.path ?? "none (UPLINKS_FILE is not set)"),
    ),
    h(
      "p",
      { class: "set-actions" },
      about.mayChange && h("a", { class: "set-button", href: "#/setup/sensor" }, "Add a sensor"),
      ...(about.mayChange ? setupLinks("sensors") : []),
      count > 0 && h("a", { class: "set-button", href: "#/" }, "See the readings"),
    ),
    h(
      "p",
      { class: "hint" },
      "Each save checks the whole file, writes it, and takes effect without a restart. The last ten files are kept. The name of the site is part of every topic; changing it requires a restart.",
    ),
  );
}

/** Everything published contains the name, so it comes first. */
function nameForm(view: SetupView, file: SetupFile): HTMLElement {
  const { api, about } = view;
  const name = h("input", {
    id: newId(),
    maxlength: NAME_MAX,
    autocomplete: "off",
    required: true,
  });
  const inTopics = h("p", { class: "hint", role: "status" });
  name.addEventListener("input", () => {
    const [written, level] = [name.value.trim(), topicLevel(name.value.trim())];
    setText(inTopics, written === level ? "" : `In topics, it appears as “${level}”.`);
  });
  const fault = h("p", { class: "fault-text", role: "alert", id: `${name.id}-fault` });
  name.setAttribute("aria-describedby", `${name.id}-hint ${fault.id}`);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const content = { $schema: "./site.schema.json", ...file.content, site: name.value.trim() };
      const saved = await file.save(api, { ...content, sensors: entriesOf(content, "sensors") });
      if (saved.outcome === "saved") return view.go("sensors", "Saved. Now add the first sensor.");
      setText(
        fault,
        saved.outcome === "faults"
          ? saved.faults.map(({ problem, remedy }) => `${problem}; ${remedy}`).join(" · ")
          : saved.outcome === "changed"
            ? "Someone else changed the site file in the meantime. Open this page again."
            : saved.message,
      );
    } catch (error) {
      setText(fault, messageOf(error));
    }
    name.focus();
  };
  return h(
    "form",
    { class: "set-form", novalidate: true, submit: (event: Event) => void send(event) },
    h(
      "p",
      null,
      "This box has no site file yet. Start with the name of the plant or building. It is part of every topic.",
    ),
    h(
      "div",
      { class: "set-field" },
      h("label", { for: name.id }, "Name of the site"),
      name,
      h(
        "p",
        { class: "hint", id: `${name.id}-hint` },
        "For example, plant-7. It cannot be changed here later.",
      ),
      inTopics,
      fault,
    ),
    h(
      "p",
      { class: "set-actions" },
      h(
        "button",
        { type: "submit", class: "set-main", disabled: !about.mayChange },
        "Save the name",
      ),
    ),
  );
}
