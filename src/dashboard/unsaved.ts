import { h } from "./dom.ts";

/** Keeps what was typed into a form when the session ends, for example because the agent was restarted. */
export class Unsaved {
  #form: Element | null = null;
  readonly #notice: HTMLElement;

  /** `content` is where the views are. */
  constructor(content: HTMLElement) {
    this.#notice = h(
      "p",
      { class: "banner notice", role: "alert", hidden: true },
      "You are signed out. Your entries are kept while this page is open: ",
      h("a", { href: "sign-in", target: "_blank" }, "sign in in another tab"),
      ", then continue here.",
    );
    content.before(this.#notice);
    content.addEventListener("input", ({ target }) => {
      if (!(target instanceof Element)) return;
      this.#form = target.closest("form:not([role=search])") ?? this.#form;
    });
  }

  /** True if a form on the page was filled in; then the notice is shown instead of the sign-in page. */
  keep(): boolean {
    const { isFilledIn } = this;
    this.#notice.hidden = !isFilledIn;
    return isFilledIn;
  }

  /** Somebody is filling in a form of this page. */
  get isFilledIn(): boolean {
    return this.#form?.isConnected === true;
  }

  /** The session is valid again. */
  signedIn(): void {
    this.#notice.hidden = true;
  }
}
