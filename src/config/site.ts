/** The site file (contract 4), checked whole: by its published schema, then by what only the meaning can tell. */

import { Ajv, type ErrorObject } from "ajv";
import siteSchema from "#site-schema";
import type { Sensor, Site } from "../core/sensor.ts";
import { likely } from "../lib/nearest.ts";
import { anyOf, type Fault, shown } from "./fault.ts";
import { parseJsonText } from "./json-text.ts";
import { checkMeaning } from "./site-meaning.ts";

export interface LoadedSite {
  /** Null when there are faults. */
  readonly site: Site | null;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
}

export interface SiteOptions {
  /** Sensor codes become Sparkplug device ids, which have rules of their own. */
  readonly sparkplug?: boolean;
  /** The site's name is the group id, too: none was given. */
  readonly isSparkplugGroup?: boolean;
}

/** `path` is shown before every place. */
export function loadSite(text: string, path: string, options: SiteOptions = {}): LoadedSite {
  const at = (place: string) => (place === "" ? path : `${path}: ${place}`);
  const parsed = parseJsonText(text.replace(/^\uFEFF/, ""));
  if ("fault" in parsed) {
    const { line, column, problem } = parsed.fault;
    return {
      site: null,
      warnings: [],
      faults: [{ place: `${path}:${line}:${column}`, problem, remedy: "write it as strict JSON" }],
    };
  }
  const faults: Fault[] = parsed.doubles.map(({ line, column, problem }) => ({
    place: `${path}:${line}:${column}`,
    problem,
    remedy: "keep one",
  }));

  const validate = new Ajv({ allErrors: true, verbose: true, strict: true }).compile(siteSchema);
  if (!validate(parsed.value)) {
    for (const error of validate.errors ?? []) faults.push(schemaFault(error));
  }
  const meaning = checkMeaning(parsed.value, options);
  faults.push(...meaning.faults);
  const placed = (fault: Fault): Fault =>
    fault.place.startsWith(path) ? fault : { ...fault, place: at(fault.place) };
  return {
    site: faults.length === 0 ? asSite(parsed.value as WrittenSite) : null,
    faults: faults.map(placed),
    warnings: meaning.warnings.map(placed),
  };
}

type WrittenSite = {
  readonly site: string;
  readonly sensors: readonly (Omit<Sensor, "channels"> & Partial<Pick<Sensor, "channels">>)[];
};

function asSite(written: WrittenSite): Site {
  return {
    site: written.site,
    sensors: written.sensors.map((sensor) => ({ ...sensor, channels: sensor.channels ?? {} })),
  };
}

function schemaFault(error: ErrorObject): Fault {
  const place = jsonPath(error.instancePath);
  const params: Readonly<Record<string, unknown>> = error.params;
  const value = shown(error.data);
  const title = titleOf(error);
  switch (error.keyword) {
    case "additionalProperties": {
      const key = String(params["additionalProperty"]);
      const schema = error.parentSchema ?? {};
      const known = Object.keys(schema["properties"] ?? {});
      const channels = schema["patternProperties"] ? CHANNEL_NAMES : [];
      const closest = likely(key, [...known, ...channels]);
      return {
        place:
          place === "" ? keyText(key) : `${place}${/^\w+$/.test(key) ? "." : ""}${keyText(key)}`,
        problem: "is no known key",
        remedy: closest === null ? "leave it out" : `did you mean ${closest}? Else leave it out`,
      };
    }
    case "required": {
      const key = String(params["missingProperty"]);
      const at = place === "" ? key : `${place}.${key}`;
      return { place: at, problem: "is missing", remedy: `add ${shown(key)}` };
    }
    case "enum": {
      const allowed = (error.schema as unknown[]).map(shown);
      const closest = typeof error.data === "string" ? likely(value, allowed) : null;
      return {
        place,
        problem: `${value} is not allowed`,
        remedy: closest
          ? `did you mean ${closest}? Allowed: ${allowed.join(", ")}`
          : `give ${anyOf(allowed)}`,
      };
    }
    case "type": {
      const wanted = TYPE_WORDS[String(params["type"])] ?? String(params["type"]);
      return {
        place,
        problem: `${value} is of the wrong type`,
        remedy: `write ${wanted}${retyped(error.data, params["type"])}`,
      };
    }
    case "minItems":
      return {
        place,
        problem: `${value} has too few items`,
        remedy: `at least ${params["limit"]}`,
      };
    case "maxItems":
      return {
        place,
        problem: `${value} has too many items`,
        remedy: `at most ${params["limit"]}`,
      };
    case "uniqueItems":
      return { place, problem: `${value} has an item twice`, remedy: "keep one" };
    case "pattern":
    case "minLength":
      return {
        place,
        problem: `${value} is empty or has blanks around it`,
        remedy: "give a text without blanks at its ends",
      };
    case "maxLength":
      return {
        place,
        problem: `${value} is too long`,
        remedy: `at most ${params["limit"]} characters`,
      };
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
      return {
        place,
        problem: `${value} is out of bounds${title}`,
        remedy: `give a number ${params["comparison"]} ${params["limit"]}`,
      };
    default:
      return { place, problem: `${value} ${error.message}`, remedy: "see config/site.schema.json" };
  }
}

/** The same value in the type that is wanted, where quotes alone make the difference. */
function retyped(data: unknown, type: unknown): string {
  if (type === "string" && typeof data === "number") return `: "${data}"`;
  const isNumber = type === "integer" || type === "number";
  const isWritten = typeof data === "string" && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(data);
  return isNumber && isWritten ? `, without quotes: ${data}` : "";
}

const CHANNEL_NAMES = ["channel", "current", "input"].flatMap((word) =>
  [1, 2, 3, 4].map((n) => `${word}${n}`),
);

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a text in quotes",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list in [ ]",
  object: "an object in { }",
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
