/** What features add to the pages, in order. */
import { pinForm } from "../features/kept/page/pin-form.ts";
import { outlookSection } from "../features/outlook/page/outlook-section.ts";
import type { CreateMeasurementAction, MachineSection } from "./section.ts";

/** Between the trend and the sensors of a machine. */
export const MACHINE_SECTIONS: readonly MachineSection[] = [outlookSection];

export const MEASUREMENT_ACTIONS: readonly CreateMeasurementAction[] = [pinForm];
