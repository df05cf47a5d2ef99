/** Writes docs/settings.md, docs/metrics.md, config/gateside.env.example and config/site.schema.json from the program's own tables, so that they always match it. */
import { readFileSync, writeFileSync } from "node:fs";
import { envExample } from "./env-example.ts";
import { metricsPage } from "./metrics-page.ts";
import { settingsPage } from "./settings-page.ts";
import { siteSchema } from "./site-schema.ts";

writeFileSync("docs/settings.md", settingsPage());
writeFileSync("docs/metrics.md", await metricsPage());
writeFileSync("config/gateside.env.example", envExample());
// Only what it says counts: its lines are broken by hand in places.
const schema = JSON.stringify(siteSchema(), null, 2);
const written: unknown = JSON.parse(readFileSync("config/site.schema.json", "utf8"));
if (JSON.stringify(written, null, 2) !== schema)
  writeFileSync("config/site.schema.json", `${schema}\n`);
