/**
 * What an uplinks file may hold that nobody is to read over HTTP: user names, which are tokens at some brokers, credentials inside an
 * address, and members that the schema does not know, such as a password that was written there by mistake.
 */
import uplinksSchema from "#uplinks-schema";
import type { ConfigurationFault } from "../core/configuration.ts";

/** Stands for a secret that stays as it is in the file. */
const HIDDEN = "********";

type Dict = Readonly<Record<string, unknown>>;
const KNOWN: ReadonlySet<string> = new Set(
  Object.keys(uplinksSchema.definitions.uplink.properties),
);
/** `//user:password@` of an address. */
const CREDENTIALS = /(?<=\/\/)[^/@]*@/g;

export function hideSecrets(content: unknown): unknown {
  return mapUplinks(content, (uplink) =>
    Object.fromEntries(
      Object.entries(uplink).map(([key, value]) => {
        if (key === "username" || !KNOWN.has(key)) return [key, HIDDEN];
        return [
          key,
          key === "url" && typeof value === "string" ? value.replace(CREDENTIALS, "") : value,
        ];
      }),
    ),
  );
}

/** Every secret of such a file, for the gate that texts about it go through. */
export function secretsIn(content: unknown): string[] {
  return uplinksOf(content).flatMap((uplink) =>
    Object.entries(uplink).flatMap(([key, value]) => {
      if (typeof value !== "string") return [];
      if (key === "url")
        return [...value.matchAll(CREDENTIALS)].flatMap(([pair]) => pair.slice(0, -1).split(":"));
      return key === "username" || !KNOWN.has(key) ? [value] : [];
    }),
  );
}

/** A browser's content with what was hidden from it put back, from the uplink of the same name and address. */
export function withSecrets(
  content: unknown,
  current: unknown,
): { readonly value: unknown; readonly faults: readonly ConfigurationFault[] } {
  const faults: ConfigurationFault[] = [];
  let index = -1;
  const value = mapUplinks(content, (uplink) => {
    index += 1;
    if (uplink["username"] !== HIDDEN) return uplink;
    const before = uplinksOf(current).find(({ name }) => name === uplink["name"]);
    // A user name may be a token: it does not go to an address that nobody gave it for.
    if (before?.["username"] !== undefined && before["url"] === uplink["url"])
      return { ...uplink, username: before["username"] };
    faults.push({
      place: `uplinks[${index}].username`,
      problem: "is hidden, and the name or the address of the uplink is new",
      remedy: "write the user name again",
    });
    return uplink;
  });
  return { value, faults };
}

function mapUplinks(content: unknown, change: (uplink: Dict) => Dict): unknown {
  if (!isDict(content) || !Array.isArray(content["uplinks"]))
    return isDict(content) ? content : null;
  const uplinks = content["uplinks"].map((one: unknown) => (isDict(one) ? change(one) : one));
  return { ...content, uplinks };
}

export function uplinksOf(content: unknown): Dict[] {
  const uplinks = isDict(content) ? content["uplinks"] : null;
  return Array.isArray(uplinks) ? uplinks.filter(isDict) : [];
}

function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
