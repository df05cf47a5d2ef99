/** Shared by the checks of all settings. */

import type { Note } from "./fault.ts";

export interface Refining {
  /** Notes a fault: the program does not start. */
  readonly note: Note;
  readonly warn: (place: string, problem: string, remedy: string) => void;
  /** A path as the program uses it; null if none is set. */
  readonly path: (value: string | undefined) => string | null;
  /** A file of CAs that cannot be used is noted. */
  readonly authorities: (place: string, value: string | undefined) => void;
  /** `Name: value`, or a JSON object of several; what is no header is noted. */
  readonly headers: (place: string, text: string | undefined) => Record<string, string>;
}
