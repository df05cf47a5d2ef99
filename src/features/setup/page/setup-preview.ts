/** The entry as a form will write it, kept up to date; secrets as dots. */
import { isJsonObject } from "../../../core/record.ts";
import { h, setText } from "../../../dashboard/dom.ts";

const DOTS = "••••••••";
/** As the agent sends what nobody may read. */
const HIDDEN = /^\*{3,}$/;
const SECRET = /^(password|username|.*token|.*secret)$/i;

function withoutSecrets(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((one: unknown) => withoutSecrets(one, name));
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, withoutSecrets(one, key)]),
    );
  if (typeof value !== "string") return value;
  if (SECRET.test(name) || HIDDEN.test(value)) return DOTS;
  // Credentials in an address are a fault, and no reason to show them.
  return value.replaceAll(/(:\/\/)[^/@\s,]+@/g, `$1${DOTS}@`);
}

export class EntryPreview {
  readonly #text = h("pre", { tabindex: 0, role: "region", "aria-label": "Entry as JSON" });
  readonly root = h(
    "details",
    { class: "set-more set-json", open: true },
    h("summary", null, "What will be written"),
    this.#text,
  );

  show(entry: unknown): void {
    setText(this.#text, JSON.stringify(withoutSecrets(entry), null, 2));
  }
}
