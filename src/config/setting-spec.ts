/** The types of settings, and what each requires of a value, in words. */
import { anyOf } from "./fault.ts";

interface CommonSpec {
  readonly doc: string;
  /** Contains a credential: never shown, and may be given as NAME_FILE. */
  readonly secret?: true;
}
interface TextSpec extends CommonSpec {
  readonly type: "text";
  readonly default?: string;
  readonly required?: true;
  /** The whole value must match; `form` describes it in words. */
  readonly pattern?: string;
  readonly form?: string;
  /** The value where none is set, with the site's name, which only the site file knows, as a topic level. */
  readonly bySite?: string;
}
/** Absolute in the program; a relative one is below the working directory. */
interface PathSpec extends CommonSpec {
  readonly type: "path";
  readonly default?: string;
  /** `check` shows it as it is in the program. */
  readonly isShownWhole?: true;
}
export interface NumberSpec extends CommonSpec {
  readonly type: "integer" | "number";
  readonly default?: number;
  readonly minimum: number;
  readonly maximum: number;
}
interface BooleanSpec extends CommonSpec {
  readonly type: "boolean";
  readonly default: boolean;
}
interface ChoiceSpec extends CommonSpec {
  readonly type: "choice";
  readonly choices: readonly string[];
  readonly default: string;
}
export type SettingSpec = TextSpec | PathSpec | NumberSpec | BooleanSpec | ChoiceSpec;

/** The required form of this setting's value, in words. */
export function expectation(spec: SettingSpec): string {
  switch (spec.type) {
    case "integer":
      return `set it to a whole number from ${spec.minimum} to ${spec.maximum}`;
    case "number":
      return `set it to a number from ${spec.minimum} to ${spec.maximum}`;
    case "boolean":
      return "set it to true or false";
    case "choice":
      return `set it to ${anyOf(spec.choices)}`;
    case "text":
      return `set it to ${spec.form ?? "text"}`;
    case "path":
      return "set it to text";
  }
}

type ValueOf<S> = S extends { type: "integer" | "number" }
  ? S extends { default: number }
    ? number
    : number | undefined
  : S extends { type: "boolean" }
    ? boolean
    : S extends { choices: readonly (infer C)[] }
      ? C
      : S extends { default: string } | { required: true }
        ? string
        : string | undefined;
/** Values of a table by environment name, coerced and range-checked, before cross checks. */
export type RawOf<T> = { readonly [N in keyof T]: ValueOf<T[N]> };

/** `MQTT_TOPIC_PREFIX` is `mqttTopicPrefix` in the program. */
export type Member<N extends string> = N extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<Member<Rest>>}`
  : Lowercase<N>;
/** Null: not set. */
export type OrNull<T> = undefined extends T ? Exclude<T, undefined> | null : T;

export const memberOf = (name: string) =>
  name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
