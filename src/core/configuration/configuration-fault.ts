/** One fault in what people write. */
import { named, type Of, object, TEXT } from "../schema.ts";

/**
 * One fault in settings or files: an environment name, or a path inside a file such as
 * `sensors[2].channels.current1.clamp`; the value seen, and how to correct it.
 */
export const CONFIGURATION_FAULT = named(
  "ConfigurationFault",
  object({ place: TEXT, problem: TEXT, remedy: TEXT }),
);
export type ConfigurationFault = Of<typeof CONFIGURATION_FAULT>;

export function faultText({ place, problem, remedy }: ConfigurationFault): string {
  return `${place}: ${problem}; ${remedy}`;
}
