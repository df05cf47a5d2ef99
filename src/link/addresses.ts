import { publicUrl } from "../core/public-url.ts";

/** One address of the cluster and its last result. */
export interface Address {
  readonly url: string;
  /** Without user name, password and query: for logs and states. */
  readonly shown: string;
  /** Why the last attempt or session there ended; null while it works or is untried. */
  lastError: string | null;
}

/** The addresses of one broker cluster, tried in turn. */
export class Addresses {
  readonly all: readonly Address[];
  #index = 0;

  constructor(urls: readonly string[]) {
    if (urls.length === 0) throw new Error("a link needs at least one address");
    this.all = urls.map((url) => ({ url, shown: publicUrl(url), lastError: null }));
  }

  /** In use, being tried, or next to be tried. */
  get current(): Address {
    const current = this.all[this.#index];
    if (!current) throw new Error("no such address");
    return current;
  }

  advance(): void {
    this.#index = (this.#index + 1) % this.all.length;
  }
}
