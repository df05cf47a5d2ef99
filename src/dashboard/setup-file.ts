/** One of the two files as this page knows it: its content when it was read, and the outcome of a change. */

import { isJsonObject, type JsonObject } from "../core/record.ts";
import { refusalText } from "./agent-access.ts";
import type { Api } from "./api.ts";
import type { Asking } from "./refresh.ts";

export type FilePart = "site" | "uplinks";

export interface SetupFault {
  readonly place: string;
  readonly problem: string;
  readonly remedy: string;
}

export type Saved =
  | { readonly outcome: "saved" }
  | { readonly outcome: "faults"; readonly faults: readonly SetupFault[] }
  /** Somebody else changed the file; `file` is theirs. */
  | { readonly outcome: "changed"; readonly file: SetupFile }
  | { readonly outcome: "refused"; readonly message: string };

interface FileResponse {
  readonly hash: string;
  readonly isBlank: boolean;
  readonly site?: unknown;
  readonly content?: unknown;
}

export class SetupFile {
  readonly part: FilePart;
  readonly hash: string;
  /** Null if the file is not JSON, or does not exist. */
  readonly content: JsonObject | null;

  /** Nobody has written anything into it yet. */
  readonly #isBlank: boolean;

  constructor(part: FilePart, { hash, isBlank, site, content }: FileResponse) {
    this.part = part;
    this.hash = hash;
    this.#isBlank = isBlank;
    const held = part === "site" ? site : content;
    this.content = isJsonObject(held) ? held : null;
  }

  /** It has content that is not JSON. */
  get isBroken(): boolean {
    return this.content === null && !this.#isBlank;
  }

  static async load(api: Api, part: FilePart, asking: Asking): Promise<SetupFile> {
    const { status, body } = await api.read<FileResponse>(`setup/${part}`, asking);
    if (status !== 200) throw new Error(refusalText(body));
    return new SetupFile(part, body);
  }

  async check(api: Api, content: JsonObject): Promise<readonly SetupFault[]> {
    const { status, body } = await api.send<{ faults?: readonly SetupFault[] }>(
      "POST",
      `setup/${this.part}/check`,
      content,
    );
    return status === 200 ? (body.faults ?? []) : [];
  }

  async save(api: Api, content: JsonObject): Promise<Saved> {
    return this.#became(
      await api.send("PUT", `setup/${this.part}`, content, { ifMatch: this.hash }),
    );
  }

  async restore(api: Api, version: number): Promise<Saved> {
    const path = `setup/${this.part === "site" ? "" : "uplinks/"}versions/${version}/restore`;
    return this.#became(await api.send("POST", path, undefined, { ifMatch: this.hash }));
  }

  #became({ status, body }: { readonly status: number; readonly body: unknown }): Saved {
    if (status === 200) return { outcome: "saved" };
    if (status === 412)
      return { outcome: "changed", file: new SetupFile(this.part, body as FileResponse) };
    if (status === 422)
      return {
        outcome: "faults",
        faults: (body as { readonly faults: readonly SetupFault[] }).faults,
      };
    return { outcome: "refused", message: refusalText(body) };
  }
}

/** The path inside the file: `sensors[0].code` of `/etc/gateside/site.json: sensors[0].code`. */
export function pathOf({ place }: SetupFault): string {
  return /(?:^|: )((?:site|sensors|machines|alarms|uplinks)(?:[.[].*)?)$/.exec(place)?.[1] ?? "";
}
