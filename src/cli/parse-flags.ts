import { likely } from "../lib/nearest.ts";
import { type FlagSpec, Flags, UsageError } from "./command.ts";

/** `--flag value`, `--flag=value`, `--switch`; anything else is a mistake that names what was probably meant. */
export function parseFlags(words: readonly string[], specs: readonly FlagSpec[]): Flags {
  const values = new Map<string, string[]>();
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (!word.startsWith("--") || word === "--")
      throw new UsageError(`${JSON.stringify(word)} is not expected here: values follow a --flag`);
    const equals = word.indexOf("=");
    const name = word.slice(2, equals < 0 ? undefined : equals);
    const spec = specs.find((s) => s.name === name);
    if (!spec) {
      const closest = likely(
        name,
        specs.map((s) => s.name),
      );
      throw new UsageError(
        `--${name} is no flag of this command${closest === null ? "" : `; did you mean --${closest}?`}`,
      );
    }
    if (values.has(name) && !spec.many) throw new UsageError(`--${name} is given twice`);
    if (spec.value === undefined) {
      if (equals >= 0) throw new UsageError(`--${name} takes no value`);
      values.set(name, [""]);
      continue;
    }
    const next = equals < 0 ? words[++i] : word.slice(equals + 1);
    // `--from -7` is a value; `--from --to` is a value that was forgotten.
    if (next === undefined || (equals < 0 && next.startsWith("--")))
      throw new UsageError(`--${name} wants a value: --${name} ${spec.value}`);
    values.set(name, [...(values.get(name) ?? []), next]);
  }
  for (const spec of specs) {
    if (values.has(spec.name)) continue;
    if (spec.default !== undefined) values.set(spec.name, [spec.default]);
    else if (spec.required)
      throw new UsageError(`--${spec.name} is required: --${spec.name} ${spec.value ?? ""}`.trim());
  }
  return new Flags(values);
}
