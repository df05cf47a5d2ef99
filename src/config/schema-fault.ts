/** Turns ajv's errors in one of our files into words for its author: location, value seen, what to do. */
import type { ErrorObject } from "ajv";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { likely } from "../lib/nearest.ts";
import { anyOf, shown } from "./fault.ts";

export interface SchemaWords {
  /** Where the operator finds the rule. */
  readonly schemaFile: string;
  /** True: the file names secrets. A value that may be one, or contain one in the wrong place, is not repeated. */
  readonly isSecretive?: boolean;
}

/** Converts an ajv error. */
export function schemaFault(
  error: ErrorObject,
  { schemaFile, isSecretive }: SchemaWords,
): ConfigurationFault {
  const fault = faultOf(error, schemaFile, isSecretive ?? false);
  return { ...fault, problem: fault.problem.trimStart() };
}

/** Members of the uplinks file whose value may be a secret, even if it is there by mistake. */
const SECRETIVE_MEMBER = /\/(url|username|\w+File)$/;

/** A text is shown under a known member that takes texts; elsewhere it may be a misplaced password. */
function isTellable({ data, keyword, instancePath }: ErrorObject): boolean {
  if (typeof data !== "string") return typeof data !== "object";
  return keyword !== "type" && keyword !== "enum" && !SECRETIVE_MEMBER.test(instancePath);
}

/** The path of the member that an unknown one was probably meant to be; null if there is none. */
export function misspeltMember(error: ErrorObject): string | null {
  if (error.keyword !== "additionalProperties") return null;
  const closest = likely(String(error.params["additionalProperty"]), membersOfSchema(error));
  return closest === null ? null : `${error.instancePath}/${closest}`;
}

function membersOfSchema({ parentSchema = {} }: ErrorObject): string[] {
  const channels = parentSchema["patternProperties"] ? CHANNEL_NAMES : [];
  return [...Object.keys(parentSchema["properties"] ?? {}), ...channels];
}

/** A channel under another word, such as ch1 or Kanal 1: what stands in it is meant. */
function channelOf(key: string, members: readonly string[]): string | null {
  const number = /[1-4]$/.exec(key)?.[0];
  const word = /^(?:i|cur|amp|phase|l\d)/i.test(key)
    ? "current"
    : /^(?:in|di)/i.test(key)
      ? "input"
      : "channel";
  const name = `${word}${number}`;
  return number !== undefined && members.includes(name) ? name : null;
}

/** What people call members of a channel. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  min: "low",
  minimum: "low",
  max: "high",
  maximum: "high",
  squareroot: "extraction",
  sqrt: "extraction",
};

function otherWord(key: string, members: readonly string[]): string | null {
  const name = OTHER_WORDS[key.toLowerCase()];
  return name !== undefined && members.includes(name) ? name : null;
}

function faultOf(error: ErrorObject, schemaFile: string, isSecretive: boolean): ConfigurationFault {
  const place = jsonPath(error.instancePath);
  const params: Readonly<Record<string, unknown>> = error.params;
  const value = isSecretive && !isTellable(error) ? "" : shown(error.data);
  const title = titleOf(error);
  switch (error.keyword) {
    case "additionalProperties": {
      const key = String(params["additionalProperty"]);
      const known = Object.keys(error.parentSchema?.["properties"] ?? {});
      const secret = SECRETS.find(
        (one) => known.includes(`${one}File`) && namesSecret(key, one, known),
      );
      if (secret !== undefined) return secretFault(place, key, secret);
      const members = membersOfSchema(error);
      const closest = otherWord(key, members) ?? likely(key, members) ?? channelOf(key, members);
      return {
        place:
          place === "" ? keyText(key) : `${place}${/^\w+$/.test(key) ? "." : ""}${keyText(key)}`,
        problem: "is an unknown key",
        remedy:
          closest === null
            ? "remove it"
            : CHANNEL_NAMES.includes(closest)
              ? `rename it to ${closest}`
              : `did you mean ${closest}? Otherwise remove it`,
      };
    }
    case "required": {
      const key = String(params["missingProperty"]);
      const at = place === "" ? key : `${place}.${key}`;
      return { place: at, problem: "is missing", remedy: `add ${shown(key)}` };
    }
    case "enum": {
      const allowed = (Array.isArray(error.schema) ? error.schema : []).map(shown);
      const closest = typeof error.data === "string" ? likely(shown(error.data), allowed) : null;
      return {
        place,
        problem: `${closest === null ? value : shown(error.data)} is not allowed`,
        remedy: closest
          ? `did you mean ${closest}? Allowed: ${allowed.join(", ")}`
          : `use ${anyOf(allowed)}`,
      };
    }
    case "type": {
      const types: unknown = params["type"];
      const wanted = (Array.isArray(types) ? types : [types])
        .map((type) => TYPE_WORDS[String(type)] ?? String(type))
        .join(" or ");
      return {
        place,
        problem: `${value} has the wrong type`,
        remedy: `write ${wanted}${retyped(error.data, params["type"])}${membersOf(error)}`,
      };
    }
    case "minItems":
      return {
        place,
        problem: `${value} has too few items`,
        remedy: `use at least ${params["limit"]}`,
      };
    case "maxItems":
      return {
        place,
        problem: `${value} has too many items`,
        remedy: `use at most ${params["limit"]}`,
      };
    case "uniqueItems":
      return { place, problem: `${value} contains a duplicate item`, remedy: "keep one" };
    case "pattern": {
      const form: unknown = error.parentSchema?.["description"];
      if (params["pattern"] === PLATE) return plate(place, value, error.data);
      if (params["pattern"] === WITHOUT_BLANKS || typeof form !== "string")
        return blanks(place, value);
      return { place, problem: `${value} has an invalid format`, remedy: `use ${form}` };
    }
    case "minLength":
      return blanks(place, value);
    case "maxLength":
      return {
        place,
        problem: `${value} is too long`,
        remedy: `use at most ${params["limit"]} characters`,
      };
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return {
        place,
        problem: `${value} is out of range${title}`,
        remedy: `use a number ${params["comparison"]} ${params["limit"]}`,
      };
    default:
      return { place, problem: `${value} ${error.message}`, remedy: `see ${schemaFile}` };
  }
}

/** What people write by mistake instead of a file path. */
const SECRETS = ["password", "sasKey"];
const PASSWORD_WORDS = /^(pass|passwd|passwort|passphrase|pwd|pw|secret|token)$/i;

function namesSecret(key: string, secret: string, known: readonly string[]): boolean {
  const isWord = secret === "password" && PASSWORD_WORDS.test(key);
  return isWord || likely(key, [...SECRETS, ...known]) === secret;
}

function secretFault(place: string, key: string, secret: string): ConfigurationFault {
  const isExact = key === secret;
  return {
    place: `${place}.${keyText(key)}`.replace(".[", "["),
    problem: isExact ? "is a secret, which must not be in this file" : "is an unknown key",
    remedy: isExact
      ? `write it to its own file and set ${secret}File`
      : `did you mean ${secret}? It is a secret, which must not be in this file: write it to its own file and set ${secret}File`,
  };
}

/** Two numbers, as on the plate of a current transformer. */
const PLATE = String.raw`^\d+(\.\d+)?[:/]\d+(\.\d+)?$`;

function plate(place: string, value: string, data: unknown): ConfigurationFault {
  return {
    place,
    problem: `${value} has an invalid format`,
    remedy: `write a number${retyped(data, "number") || " without quotes"}, or what is on the plate, such as "400:5"`,
  };
}

const WITHOUT_BLANKS = "^\\S(.*\\S)?$";

function blanks(place: string, value: string): ConfigurationFault {
  if (value === '""') return { place, problem: "is empty", remedy: "enter one" };
  return {
    place,
    problem: `${value} has leading or trailing spaces`,
    remedy: "remove these spaces",
  };
}

/** The same value in the required type, if only quotes make the difference. */
function retyped(data: unknown, type: unknown): string {
  if (type === "string" && typeof data === "number") return `: "${data}"`;
  const isNumber = type === "integer" || type === "number";
  if (!isNumber || typeof data !== "string") return "";
  if (/^-?\d+,\d+$/.test(data)) return " with a decimal point and without a comma";
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(data) ? `, without quotes: ${data}` : "";
}

/** The expected members of an object that was written as something else. */
function membersOf({ params, parentSchema }: ErrorObject): string {
  const members = Object.keys(parentSchema?.["properties"] ?? {}).map(shown);
  return params["type"] !== "object" || members.length === 0 ? "" : ` with ${anyOf(members)}`;
}

const CHANNEL_NAMES = ["channel", "current", "input"].flatMap((word) =>
  [1, 2, 3, 4].map((n) => `${word}${n}`),
);

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string in quotes",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list in [ ]",
  object: "an object in { }",
  null: "null",
};

function titleOf(error: ErrorObject): string {
  const title: unknown = error.parentSchema?.["title"];
  return typeof title === "string" ? ` (${title})` : "";
}

function keyText(key: string): string {
  return /^\w+$/.test(key) ? key : `[${shown(key)}]`;
}

/** `/sensors/2/channels/current1` → `sensors[2].channels.current1`. */
function jsonPath(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`;
      const key = keyText(part);
      return path === "" || key.startsWith("[") ? path + key : `${path}.${key}`;
    }, "");
}
