import type { Site } from "./site.ts";

/** The site file in effect. Rooms read it when they need it and keep no copy: a reload replaces it while they run. */
export interface SiteSource {
  readonly current: Site;
  /** Calls the listener after each replacement. Returns a function that removes it. */
  onChange(listener: SiteListener): () => void;
}

export type SiteListener = (site: Site, before: Site) => void;

/** A site that never changes: for commands that run once, and most tests. */
export function fixedSite(site: Site): SiteSource {
  return { current: site, onChange: () => () => {} };
}

/** The agent's: `replace` is the only place where a site comes into effect. */
export class ReplaceableSite implements SiteSource {
  readonly #listeners = new Set<SiteListener>();
  #current: Site;

  constructor(site: Site) {
    this.#current = site;
  }

  get current(): Site {
    return this.#current;
  }

  onChange(listener: SiteListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Every listener is called before this returns, in order of registration. */
  replace(site: Site): void {
    const before = this.#current;
    this.#current = site;
    for (const listener of this.#listeners) listener(site, before);
  }
}

/**
 * A value derived from the site, recomputed at the first use after each replacement: a cache that needs no listener.
 */
export function fromSite<T>(source: SiteSource, make: (site: Site) => T): () => T {
  let made: { readonly site: Site; readonly value: T } | null = null;
  return () => {
    const { current } = source;
    if (made?.site !== current) made = { site: current, value: make(current) };
    return made.value;
  };
}
