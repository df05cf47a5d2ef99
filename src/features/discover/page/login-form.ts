/** The login that discovery needs. */

import { messageOf } from "../../../core/thrown.ts";
import { refusalText } from "../../../dashboard/agent-access.ts";
import { h, setText } from "../../../dashboard/dom.ts";
import { newId } from "../../../dashboard/setup-schema.ts";
import type { SetupView } from "../../../dashboard/setup-view.ts";

export function field(
  label: string,
  input: HTMLInputElement | HTMLSelectElement,
  hint = "",
): HTMLElement {
  input.id = newId();
  if (hint !== "") input.setAttribute("aria-describedby", `${input.id}-hint`);
  return h(
    "div",
    { class: "set-field" },
    h("label", { for: input.id }, label),
    input,
    hint !== "" && h("p", { class: "hint", id: `${input.id}-hint` }, hint),
  );
}

export function loginForm(
  view: SetupView,
  trouble: string,
  begun: () => Promise<void>,
): HTMLElement {
  const url = h("input", { type: "url", inputmode: "url", autocomplete: "off", required: true });
  const email = h("input", { type: "email", autocomplete: "off", required: true });
  const password = h("input", { type: "password", autocomplete: "off", required: true });
  const word = h("input", { autocomplete: "off" });
  const fault = h("p", { class: "fault-text", role: "alert" });
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const isGiven = [email, password].every(({ value }) => value.trim() !== "");
    if (!isGiven || !/^https?:\/\/./.test(url.value.trim())) {
      setText(
        fault,
        "Enter the address with http:// or https://, the e-mail address and the password.",
      );
      return;
    }
    const wireWord = word.value.trim();
    const login = {
      url: url.value.trim(),
      email: email.value.trim(),
      password: password.value,
      ...(wireWord !== "" && { wireWord }),
    };
    try {
      const { status, body } = await view.api.send("POST", "setup/discover", login);
      // It is stored nowhere else.
      password.value = "";
      if (status === 202) return await begun();
      setText(fault, refusalText(body));
    } catch (error) {
      setText(fault, messageOf(error));
    }
  };
  setText(fault, trouble === "" ? "" : `The service returned no sensors: ${trouble}`);
  return h(
    "form",
    {
      class: "set-form",
      novalidate: true,
      "aria-label": "Log in to the analytics service",
      submit: (event: Event) => void send(event),
    },
    h(
      "p",
      null,
      "Requests the list of sensors and their locations from an analytics service. The password is used only for this log-in and is not stored.",
    ),
    field("Address of the service", url, "Such as http://analytics.plant:8080"),
    field("E-mail", email),
    field("Password", password),
    h(
      "details",
      { class: "set-more" },
      h("summary", null, "More"),
      field(
        "Wire word",
        word,
        "Only needed if the service's names use a different word than this agent's WIRE_WORD.",
      ),
    ),
    fault,
    h(
      "p",
      { class: "set-actions" },
      h(
        "button",
        { type: "submit", class: "set-main", disabled: !view.about.mayChange },
        "Find sensors",
      ),
    ),
  );
}
