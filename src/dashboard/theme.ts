/** Light or dark: the system's choice, or the one made here and remembered. */

export type ThemeChoice = "system" | "light" | "dark";
const KEY = "gateside.theme";
const FORCED = "(forced-colors: active)";
const CHOICES: readonly ThemeChoice[] = ["system", "light", "dark"];

export class Theme {
  readonly #listeners = new Set<() => void>();
  #choice: ThemeChoice;

  constructor() {
    const kept = read();
    this.#choice = CHOICES.find((choice) => choice === kept) ?? "system";
    this.#apply();
    for (const query of ["(prefers-color-scheme: dark)", FORCED])
      matchMedia(query).addEventListener("change", () => this.#announce());
  }
  get choice(): ThemeChoice {
    return this.#choice;
  }
  choose(choice: ThemeChoice): void {
    this.#choice = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // Storage may be disabled; the choice then lasts until the page is closed.
    }
    this.#apply();
    this.#announce();
  }
  /** Canvas drawings must be drawn again. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  #apply(): void {
    if (this.#choice === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = this.#choice;
  }
  #announce(): void {
    for (const listener of this.#listeners) listener();
  }
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** A colour of the style sheet, for the canvas, to which the browser applies no forced colours. */
export function colour(name: string): string {
  if (matchMedia(FORCED).matches) return systemColour(name);
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Ink or ground, as `#rrggbb`; curves differ by their dashes. */
function systemColour(name: string): string {
  const { color, backgroundColor } = getComputedStyle(document.body);
  const parts = /\d+, \d+, \d+/.exec(name === "card" ? backgroundColor : color)?.[0].split(", ");
  const hex = (parts ?? []).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  return `#${hex}${name === "grid" || name === "line" ? "40" : ""}`;
}
