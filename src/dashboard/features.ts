/** What features add to the pages, in order. */
import { outlookSection } from "../features/outlook/page/outlook-section.ts";
import type { MachineSection } from "./section.ts";

/** Between the trend and the sensors of a machine. */
export const MACHINE_SECTIONS: readonly MachineSection[] = [outlookSection];
