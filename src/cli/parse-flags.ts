import { likely } from "../lib/nearest.ts";
import { type FlagSpec, Flags, flagCall, UsageError } from "./command.ts";

/** `--flag value`, `--flag=value`, `--switch`; anything else is an error that names what was probably meant. */
export function parseFlags(words: readonly string[], specs: readonly FlagSpec[]): Flags {
  const values = new Map<string, string[]>();
  const unknown: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (!word.startsWith("--") || word === "--")
      throw new UsageError(`${JSON.stringify(word)} is not expected here: values follow a --flag`);
    const equals = word.indexOf("=");
    const name = word.slice(2, equals < 0 ? undefined : equals);
    const spec = specs.find((s) => s.name === name);
    if (!spec) {
      unknown.push(name);
      // The next argument is its value, as far as one can tell.
      if (equals < 0 && words[i + 1]?.startsWith("--") === false) i += 1;
      continue;
    }
    if (values.has(name) && !spec.many) throw new UsageError(`--${name} is specified twice`);
    if (spec.value === undefined) {
      if (equals >= 0) throw new UsageError(`--${name} takes no value`);
      values.set(name, [""]);
      continue;
    }
    const next = equals < 0 ? words[++i] : word.slice(equals + 1);
    // `--from -7` is a value; `--from --to` is a forgotten value.
    if (next === undefined || (equals < 0 && next.startsWith("--")))
      throw new UsageError(`--${name} needs a value: ${flagCall(spec)}`);
    values.set(name, [...(values.get(name) ?? []), next]);
  }
  if (unknown.length > 0) throw new UsageError(unknownText(unknown, specs));
  const missing = specs.filter(
    ({ name, required, requiredUnless }) =>
      !values.has(name) &&
      (required === true || (requiredUnless !== undefined && !values.has(requiredUnless))),
  );
  if (missing.length > 0) throw new UsageError(missingText(missing));
  for (const { name, default: fallback } of specs) {
    if (fallback !== undefined && !values.has(name)) values.set(name, [fallback]);
  }
  return new Flags(values);
}

function unknownText(unknown: readonly string[], specs: readonly FlagSpec[]): string {
  const names = specs.map(({ name }) => name);
  const [first, ...others] = unknown.map((name) => {
    const closest = likely(name, names);
    return { flag: `--${name}`, advice: closest === null ? "" : `did you mean --${closest}?` };
  });
  if (first === undefined) return "";
  if (others.length === 0)
    return `${first.flag} is not a flag of this command${first.advice === "" ? "" : `; ${first.advice}`}`;
  const named = [first, ...others].map(({ flag, advice }) =>
    advice === "" ? flag : `${flag} (${advice})`,
  );
  return `these are not flags of this command: ${named.join(", ")}`;
}

/** All at once; of two alternatives one is required. */
function missingText(missing: readonly FlagSpec[]): string {
  const calls: string[] = [];
  const seen = new Set<string>();
  for (const spec of missing) {
    const other = missing.find(({ name }) => name === spec.requiredUnless);
    if (other !== undefined && seen.has(other.name)) continue;
    seen.add(spec.name);
    calls.push(other === undefined ? flagCall(spec) : `${flagCall(spec)} or ${flagCall(other)}`);
  }
  return calls.length === 1
    ? `${calls.join()} is required`
    : `these are required: ${calls.join(", ")}`;
}
