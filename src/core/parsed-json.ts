import { isJsonObject, type JsonObject } from "./record.ts";

/** The content of a text that we wrote, or that is checked by whoever asked; null where it is no JSON. */
export function parsedJson<T = unknown>(text: string): T | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The same for callers that skip or count what is damaged. Throws SyntaxError. */
export function intactJson<T = unknown>(text: string): T {
  return JSON.parse(text);
}

/** Null where it is no JSON object. */
export function parsedObject<T extends object = JsonObject>(text: string): T | null {
  const value = parsedJson<T>(text);
  return isJsonObject(value) ? value : null;
}

/** Topics of a list that we kept: what damage has made of an entry is none, nor is one that no broker takes. */
export function keptTopics(list: unknown): readonly string[] {
  return Array.isArray(list)
    ? list.filter((one) => typeof one === "string" && /^[^+#\0]+$/.test(one))
    : [];
}
