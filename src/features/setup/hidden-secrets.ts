/**
 * Hides what nobody may read in the two files over HTTP. A member that the published schema knows is shown if its
 * value has the form given there; of everything else (user names, which are tokens at some brokers, credentials and
 * queries of URLs, members that the schema does not know, such as a password written there by mistake, and values of
 * another form) only the name is shown.
 */

import siteSchema from "#site-schema";
import uplinksSchema from "#uplinks-schema";
import { addressesOf } from "../../core/addresses/address-list.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import { parsedJson } from "../../core/parsed-json.ts";
import { isJsonObject, type JsonObject } from "../../core/record.ts";

/** Placeholder for a value that is hidden and stays unchanged in the file. */
export const HIDDEN = "********";

/** The parts of JSON Schema that the two files use. */
interface FileSchema {
  readonly $ref?: string;
  readonly allOf?: readonly FileSchema[];
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, FileSchema>>;
  readonly patternProperties?: Readonly<Record<string, FileSchema>>;
  readonly additionalProperties?: boolean | FileSchema;
  readonly items?: FileSchema;
  readonly definitions?: Readonly<Record<string, FileSchema>>;
}

/** Shown instead of a member's value; null if the schema alone decides. */
type Special = (key: string, value: unknown) => string | null;

class SecretMask {
  /** Hidden values, for the secret gate that texts about the file pass. */
  readonly hidden: string[] = [];
  readonly #whole: FileSchema;
  /** Null: the value of a known member is shown, of any type. */
  readonly #special: Special | null;

  constructor(whole: FileSchema, special: Special | null) {
    this.#whole = whole;
    this.#special = special;
  }

  shown(value: unknown, schema: FileSchema = this.#whole): unknown {
    const own = this.#resolved(schema);
    if (Array.isArray(value)) {
      const { items } = own;
      if (items === undefined) return this.#hide(value);
      return value.map((item: unknown) => this.shown(item, items));
    }
    if (!isJsonObject(value))
      return this.#special === null || hasForm(value, own) ? value : this.#hide(value);
    if (![own.type].flat().includes("object")) return this.#hide(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const part = partOf(own, key);
        if (part === null) return [key, this.#hide(member)];
        const special = this.#special?.(key, member) ?? null;
        if (special === null) return [key, this.shown(member, part)];
        this.#note(member);
        return [key, special];
      }),
    );
  }

  #hide(value: unknown): string {
    this.#note(value);
    return HIDDEN;
  }

  #note(value: unknown): void {
    // The start of a URL reveals nothing.
    if (typeof value === "string" && value.includes("://"))
      this.hidden.push(...partsOfAddresses(value));
    else if (typeof value === "string") this.hidden.push(value);
    else if (typeof value === "number") this.hidden.push(String(value));
    else if (typeof value === "object" && value !== null)
      for (const member of Object.values(value)) this.#note(member);
  }

  #resolved(schema: FileSchema): FileSchema {
    const [first] = schema.allOf ?? [];
    if (first !== undefined) return { ...this.#resolved(first), ...schema };
    if (schema.$ref === undefined) return schema;
    return this.#resolved(
      this.#whole.definitions?.[schema.$ref.replace("#/definitions/", "")] ?? {},
    );
  }
}

function partOf(
  { properties, patternProperties, additionalProperties }: FileSchema,
  key: string,
): FileSchema | null {
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key] ?? null;
  for (const [pattern, schema] of Object.entries(patternProperties ?? {}))
    if (new RegExp(pattern, "u").test(key)) return schema;
  return typeof additionalProperties === "object" ? additionalProperties : null;
}

function hasForm(value: unknown, { type, enum: words }: FileSchema): boolean {
  if (words !== undefined) return words.includes(value);
  const types = typeof type === "string" ? [type] : (type ?? []);
  if (value === null) return types.includes("null");
  if (typeof value === "number") return types.includes("number") || types.includes("integer");
  return types.includes(typeof value);
}

/** User names, passwords and queries in a list of URLs. */
function partsOfAddresses(text: string): string[] {
  const pairs = text.split(/[\r\n]/).flatMap((line) => pairsOf(line));
  const queries = [...text.matchAll(/\?([^,#]*)/g)].flatMap(([, query = ""]) =>
    query.split(/[&=]/),
  );
  return [...pairs, ...queries].filter((part) => part !== "");
}

/** What stands between `//` and `@`, in one pass. */
function pairsOf(line: string): string[] {
  const pairs: string[] = [];
  for (let from = line.indexOf("//"); from >= 0; ) {
    const to = line.indexOf("@", from + 2);
    if (to < 0) break;
    pairs.push(...line.slice(from + 2, to).split(":"));
    from = line.indexOf("//", to + 1);
  }
  return pairs;
}

/** Scheme, user name and password, host and path, query. If a separator is missing, a password may be parsed as a host or a path. */
const ADDRESS = /^((?:mqtts?|wss?):\/\/)(?:[^\s/?#@]*@)?([^\s/?#@]+(?:\/[^\s?#@]*)?)(?:[?#].*)?$/i;

/** Without credentials. */
const PROXY = /^http:\/\/[^\s/?#@]+\/?$/i;

/** Addresses of one cluster in the form that may be shown. */
function publicAddresses(text: string): string {
  const shown = addressesOf(text).map((url) => {
    const [, scheme, rest] = ADDRESS.exec(url) ?? [];
    return scheme === undefined || rest === undefined ? HIDDEN : scheme + rest;
  });
  return shown.includes(HIDDEN) ? HIDDEN : shown.join(",");
}

/** Whether a value looks like a path, or names an existing file: anything else may be the secret itself. */
export type IsPath = (path: string) => boolean;

const uplinksSpecial =
  (isPath: IsPath): Special =>
  (key, value) => {
    if (key === "username") return HIDDEN;
    if (typeof value !== "string") return null;
    if (key === "proxy") return PROXY.test(value) ? null : HIDDEN;
    if (key === "url") {
      const shown = publicAddresses(value);
      return shown === value ? null : shown;
    }
    return !key.endsWith("File") || isPath(value) ? null : HIDDEN;
  };

export function hideSecrets(content: unknown, isPath: IsPath): unknown {
  return new SecretMask(uplinksSchema, uplinksSpecial(isPath)).shown(content);
}

/** Every secret of such a file, for the secret gate that texts about it pass. */
export function secretsIn(content: unknown, isPath: IsPath): string[] {
  const mask = new SecretMask(uplinksSchema, uplinksSpecial(isPath));
  mask.shown(content);
  return mask.hidden;
}

/**
 * A site file, which has no place for secrets, without members that do not belong there; and whether anything was
 * removed.
 */
export function shownSite(content: unknown): {
  readonly content: unknown;
  readonly isWhole: boolean;
} {
  const mask = new SecretMask(siteSchema, null);
  return { content: mask.shown(content), isWhole: mask.hidden.length === 0 };
}

/** A browser's content with its hidden values restored, from the uplink of the same name and address. */
export function withSecrets(
  content: unknown,
  current: unknown,
  isPath: IsPath,
): { readonly value: unknown; readonly faults: readonly ConfigurationFault[] } {
  const faults: ConfigurationFault[] = [];
  let index = -1;
  const value = mapUplinks(content, (given) => {
    index += 1;
    const before = uplinksOf(current).find(({ name }) => name === given["name"]) ?? {};
    const shown = hideSecrets({ uplinks: [before] }, isPath);
    const url = uplinksOf(shown)[0]?.["url"];
    const isSameAddress =
      before["url"] !== undefined &&
      isSameWay({ url, proxy: uplinksOf(shown)[0]?.["proxy"] }, given);
    // The query of a WebSocket URL is restored; one that is a fault in a URL is dropped.
    const isQuery =
      isSameAddress && url !== HIDDEN && !/@|mqtts?:[^,]*[?#]/i.test(String(before["url"]));
    const uplink = isQuery ? { ...given, url: before["url"] } : given;
    return Object.fromEntries(
      Object.entries(uplink).map(([key, member]) => {
        if (member !== HIDDEN) return [key, member];
        // A user name may be a token: it is not sent to an address that it was not given for.
        if (isSameAddress && url !== HIDDEN && before[key] !== undefined) return [key, before[key]];
        faults.push({
          place: `uplinks[${index}].${key}`,
          problem:
            key === "url"
              ? "is hidden, because it may contain a password"
              : "is hidden, but the name or the address of the uplink has changed",
          remedy: "enter it again",
        });
        return [key, member];
      }),
    );
  });
  return { value, faults };
}

/** Whether secrets for one go the same way to the same broker in the other: a proxy sees what is not encrypted. */
export function isSameWay(one: JsonObject, other: JsonObject): boolean {
  return one["url"] === other["url"] && one["proxy"] === other["proxy"];
}

/** The content with each uplink changed; entries that are not uplinks stay. */
export function mapUplinks(content: unknown, change: (uplink: JsonObject) => JsonObject): unknown {
  if (!isJsonObject(content) || !Array.isArray(content["uplinks"]))
    return isJsonObject(content) ? content : null;
  const uplinks = content["uplinks"].map((one: unknown) => (isJsonObject(one) ? change(one) : one));
  return { ...content, uplinks };
}

export function uplinksOf(content: unknown): JsonObject[] {
  const uplinks = isJsonObject(content) ? content["uplinks"] : null;
  return Array.isArray(uplinks) ? uplinks.filter(isJsonObject) : [];
}

/** The content of one of the two files; null if it is not JSON. */
export function contentOf(text: string | null): unknown {
  return parsedJson((text ?? "null").replace(/^\uFEFF/, ""));
}
