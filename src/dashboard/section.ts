/** What features add to a page. */
import type { Api } from "./api.ts";
import type { Model } from "./model.ts";
import type { Theme } from "./theme.ts";

export interface PageView {
  readonly api: Api;
  readonly model: Model;
  readonly theme: Theme;
}

export interface Section {
  readonly root: HTMLElement;
  stop?(): void;
}

/** A section of the page of a machine that the site file lists; its root stays hidden while it has nothing to show. */
export type MachineSection = (view: PageView, machine: number) => Section;
