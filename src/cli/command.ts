/** The parts of every command; see commands.ts for the table. */
import type { Environment } from "../config/environment-type.ts";
import { anyOf } from "../config/fault.ts";
import { likely } from "../lib/nearest.ts";

/** A flag `--name`. Values are checked by the command; the parser only knows whether there is one. */
export interface FlagSpec {
  readonly name: string;
  /** Name of the value in the help, e.g. `DATE`; a flag without one is a switch. */
  readonly value?: string;
  readonly doc: string;
  readonly default?: string;
  readonly required?: boolean;
  /** Required unless the flag with this name, its alternative, is set. */
  readonly requiredUnless?: string;
  /** May be repeated. */
  readonly many?: boolean;
}

/** The flag as written in a call: `--name VALUE`. */
export function flagCall({ name, value }: Pick<FlagSpec, "name" | "value">): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** A text output; a process stream fits. */
export interface TextSink {
  /** False asks the caller to wait for `drain`, as Node's streams do. */
  write(text: string | Uint8Array): boolean;
  once?(event: "drain" | "close", listener: () => void): unknown;
  off?(event: "drain" | "close", listener: () => void): unknown;
  readonly isTTY?: boolean;
  /** Width of a terminal, characters. */
  readonly columns?: number;
  readonly writable?: boolean;
}

export interface CommandContext {
  readonly flags: Flags;
  /** Words before the flags, of a command that takes some. */
  readonly operands?: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  /** Aborted by the first SIGTERM or SIGINT, and when the reader of stdout is gone. */
  readonly signal: AbortSignal;
  /** Makes SIGHUP call the listener; if no command does so, SIGHUP ends the command. */
  readonly onHangup?: ((listener: () => void) => void) | undefined;
}

/** Returns the exit code. */
type CommandHandler = (context: CommandContext) => Promise<number>;

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** Further paragraphs of the help. */
  readonly details?: string;
  readonly flags: readonly FlagSpec[];
  /** Words that may stand before the flags, for the help. */
  readonly operands?: string;
  readonly examples: readonly string[];
  /** Loaded only when the command runs, so that `check` does not load a broker and `--help` loads nothing. */
  readonly load: () => Promise<{ readonly run: CommandHandler }>;
}

/** A mistake on the command line: printed as one line, exit code 2. */
export class UsageError extends Error {}

/** Valid codes, shown in the message about an invalid one. */
const CODES_MAX = 12;

export function unknownSensor(
  code: string,
  site: { readonly sensors: readonly { readonly code: string }[] },
): UsageError {
  const codes = site.sensors.map((sensor) => sensor.code);
  const closest = likely(code, codes);
  const shown = codes.slice(0, CODES_MAX).join(", ") + (codes.length > CODES_MAX ? ", …" : "");
  const advice = closest === null ? `it has ${shown}` : `did you mean ${closest}?`;
  return new UsageError(`--sensor ${code} is not in the site file; ${advice}`);
}

/** The flags of one call, already validated against the command's table. */
export class Flags {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }
  /** The value, its default, or null. */
  text(name: string): string | null {
    return this.#values.get(name)?.at(-1) ?? null;
  }
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }
  required(name: string): string {
    const value = this.text(name);
    if (value === null || value === "") throw new UsageError(`--${name} is required`);
    return value;
  }
  number(name: string, bounds: { min: number; max: number; isInteger?: boolean }): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = Number(text);
    const isWrong =
      text.trim() === "" ||
      !(value >= bounds.min && value <= bounds.max) ||
      (bounds.isInteger === true && !Number.isInteger(value));
    if (isWrong) {
      const what = bounds.isInteger ? "a whole number" : "a number";
      throw new UsageError(
        `--${name} ${JSON.stringify(text)} is not ${what} from ${bounds.min} to ${bounds.max}`,
      );
    }
    return value;
  }
  choice<C extends string>(name: string, choices: readonly C[]): C | null {
    const text = this.text(name);
    if (text === null) return null;
    const choice = choices.find((c) => c === text);
    if (choice === undefined) {
      const closest = likely(text, choices);
      const advice =
        closest === null
          ? `use ${anyOf(choices)}`
          : `did you mean ${closest}? Allowed: ${choices.join(", ")}`;
      throw new UsageError(`--${name} ${JSON.stringify(text)} is not allowed; ${advice}`);
    }
    return choice;
  }
}
