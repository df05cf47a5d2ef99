import type { Api } from "./api.ts";
import type { Model } from "./model.ts";
import type { Asking } from "./refresh.ts";
import type { JsonSchema } from "./setup-schema.ts";

/** Arguments of a view. */
export interface SetupView {
  readonly api: Api;
  readonly model: Model;
  readonly about: SetupAbout;
  readonly schemas: { readonly site: JsonSchema; readonly uplinks: JsonSchema };
  readonly place: HTMLElement;
  /** Of this view: aborted when it is left. */
  readonly signal: Asking;
  /** Goes to another view, which shows this message once. */
  readonly go: (subject: string, text: string) => void;
}

interface AboutFile {
  readonly path: string;
  readonly trouble: string | null;
}
export interface SetupAbout {
  readonly isNamed: boolean;
  readonly sensors: number;
  readonly mayChange: boolean;
  readonly site: AboutFile;
  readonly uplinks: AboutFile | null;
}
