/** Pages of features below the lists of set-up, in order; each is loaded when it is first opened. */
import { DISCOVER_PLACE } from "../features/discover/page/discover-place.ts";
import type { SetupPage } from "./section.ts";

export const SETUP_PAGES: readonly SetupPage[] = [DISCOVER_PLACE];
