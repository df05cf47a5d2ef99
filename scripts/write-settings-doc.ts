/** Writes docs/settings.md, docs/metrics.md and config/gateside.env.example from the program's own tables, so that they always match it. */
import { writeFileSync } from "node:fs";
import { envExample } from "./env-example.ts";
import { metricsPage } from "./metrics-page.ts";
import { settingsPage } from "./settings-page.ts";

writeFileSync("docs/settings.md", settingsPage());
writeFileSync("docs/metrics.md", await metricsPage());
writeFileSync("config/gateside.env.example", envExample());
