/** What features add to the pages. */
import type { ShownMeasurement } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import type { Cleanup } from "./dom.ts";
import type { Model } from "./model.ts";
import type { SetupView } from "./setup-view.ts";
import type { Theme } from "./theme.ts";

export interface PageView {
  readonly api: Api;
  readonly model: Model;
  readonly theme: Theme;
}

export interface PageParts extends PageView {
  readonly content: HTMLElement;
  readonly subject: string;
}

/** A page about a sensor or a machine. */
export interface FeaturePage {
  /** `view`, or `view/part`. */
  readonly at: string;
  /** Of the manual. */
  readonly chapter: string;
  /** Whether there is a page about this; by default about all but the empty subject. */
  has?(subject: string): boolean;
  /** Its name in the bar of places, for whoever may change something. */
  readonly bar?: string;
  /** The link to it on the entry of a machine. */
  readonly machineLink?: { readonly part: string; readonly text: string };
  open(): Promise<(parts: PageParts) => Cleanup>;
}

/** A page of set-up below one of its lists. */
export interface SetupPage {
  /** `#/setup/subject`. */
  readonly subject: string;
  readonly parent: string;
  readonly title: string;
  /** Text of the links to it. */
  readonly link: string;
  open(): Promise<(view: SetupView) => Promise<void>>;
}

export interface Section {
  readonly root: HTMLElement;
  stop?(): void;
}

/** Beside the choice of a measurement; its root stays hidden while none is shown. */
export interface MeasurementAction {
  readonly root: HTMLElement;
  show(measurement: ShownMeasurement | null): void;
}
export type CreateMeasurementAction = (
  api: Api,
  code: string,
  nameOf: (one: ShownMeasurement) => string,
  onChange: (changed: ShownMeasurement) => void,
) => MeasurementAction;

/** A section of the page of a machine that the site file lists; its root stays hidden while it has nothing to show. */
export type MachineSection = (view: PageView, machine: number) => Section;
