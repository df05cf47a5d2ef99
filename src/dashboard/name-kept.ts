/** The user's name, remembered in this browser. */
const NAME_KEY = "gateside.name";

export function nameKept(): string {
  try {
    return localStorage.getItem(NAME_KEY) ?? "";
  } catch {
    return "";
  }
}

export function keepName(name: string): void {
  try {
    localStorage.setItem(NAME_KEY, name);
  } catch {
    // Storage may be disabled; the name is then asked for each time.
  }
}
