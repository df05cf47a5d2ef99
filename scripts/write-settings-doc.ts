/** Writes docs/settings.md and config/gateside.env.example from the table of settings, so that both always match the program. */
import { writeFileSync } from "node:fs";
import { envExample } from "./env-example.ts";
import { settingsPage } from "./settings-page.ts";

writeFileSync("docs/settings.md", settingsPage());
writeFileSync("config/gateside.env.example", envExample());
