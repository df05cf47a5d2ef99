import type { Schema } from "./api-schemas.ts";

/** An operation of the API as its document describes it. */
export interface Operation {
  readonly path: string;
  readonly method: "get" | "post" | "put" | "delete";
  readonly summary: string;
  readonly query?: Schema;
  readonly params?: Schema;
  readonly body?: Schema;
  /** The response, in a few words. */
  readonly response: string;
  /** Its schema; null if it is not JSON. */
  readonly schema: Schema | null;
  /** Status of that response; default 200. */
  readonly status?: number;
  readonly contentType?: string;
  /** Errors other than 400 and 401. */
  readonly also?: Readonly<Record<number, string>>;
  /** Statuses whose responses have the same schema. */
  readonly alike?: Readonly<Record<number, string>>;
}
