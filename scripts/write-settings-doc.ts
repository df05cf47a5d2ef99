/** Writes docs/settings.md from the one table of settings, so that the page cannot drift from the program. */
import { writeFileSync } from "node:fs";
import { settingsPage } from "./settings-page.ts";

writeFileSync("docs/settings.md", settingsPage());
