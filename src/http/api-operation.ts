import type { Schema } from "./api-schemas.ts";

/** An operation of the API as its document tells of it. */
export interface Operation {
  readonly path: string;
  readonly method: "get" | "post" | "put";
  readonly summary: string;
  readonly query?: Schema;
  readonly params?: Schema;
  readonly body?: Schema;
  /** What the answer is, in a few words. */
  readonly answer: string;
  /** Its form; null for what is no JSON. */
  readonly schema: Schema | null;
  /** Status of that answer; 200 unless given. */
  readonly status?: number;
  readonly answerType?: string;
  /** Refusals other than 400 and 401. */
  readonly also?: Readonly<Record<number, string>>;
  /** Statuses that answer in the same form. */
  readonly alike?: Readonly<Record<number, string>>;
}
