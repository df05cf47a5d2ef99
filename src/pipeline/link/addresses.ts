import { ownAddress } from "../../core/addresses/own-address.ts";
import { publicUrl } from "../../core/addresses/public-url.ts";

/** One address of the cluster and its last result. */
export interface Address {
  readonly url: string;
  /** Without user name, password and query: for logs and states. */
  readonly shown: string;
  /** Why the last attempt or session there ended; null while it works or is untried. */
  lastError: string | null;
}

/** The addresses of one broker cluster, tried in turn from the client's own one. */
export class Addresses {
  readonly all: readonly Address[];
  readonly #own: number;
  #index: number;

  constructor(urls: readonly string[], clientId: string) {
    if (urls.length === 0) throw new Error("a link needs at least one address");
    this.#own = ownAddress(clientId, urls.length);
    this.#index = this.#own;
    this.all = urls.map((url) => ({ url, shown: publicUrl(url), lastError: null }));
  }

  /** In use, being tried, or next to be tried. */
  get current(): Address {
    const current = this.all[this.#index];
    if (!current) throw new Error("no such address");
    return current;
  }

  /** The one that the client id chooses; null while it is in use. */
  get own(): Address | null {
    return this.#index === this.#own ? null : (this.all[this.#own] ?? null);
  }

  returnToOwn(): void {
    this.#index = this.#own;
  }

  advance(): void {
    this.#index = (this.#index + 1) % this.all.length;
  }
}
