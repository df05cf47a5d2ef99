import { h } from "./dom.ts";

const LEAVE = "What you typed here is not saved. Leave this page all the same?";

/** Keeps what was typed into a form when the session ends or another page is opened. */
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
    for (const what of ["input", "change"])
      content.addEventListener(what, ({ target }) => {
        if (!(target instanceof Element)) return;
        this.#form = target.closest("form:not([role=search])") ?? this.#form;
      });
    // What says that it leaves without saving need not ask.
    content.addEventListener("click", ({ target }) => {
      if (target instanceof Element && target.closest("[data-discard]") !== null) this.#form = null;
    });
    window.addEventListener("beforeunload", (event) => {
      if (this.isFilledIn) event.preventDefault();
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
    return this.#form?.isConnected === true && this.#form.getClientRects().length > 0;
  }

  /** Whether another page may take the place of this one; asks where a form is half filled in. */
  mayLeave(): boolean {
    if (!this.isFilledIn) return true;
    const isLeft = window.confirm(LEAVE);
    if (isLeft) this.#form = null;
    return isLeft;
  }

  /** The session is valid again. */
  signedIn(): void {
    this.#notice.hidden = true;
  }
}
