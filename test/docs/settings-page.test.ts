import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { envExample } from "../../scripts/env-example.ts";
import { INSTALLATIONS, settingsPage } from "../../scripts/settings-page.ts";
import { siteSchema } from "../../scripts/site-schema.ts";

test("docs – the settings page equals the program's table", () => {
  assert.equal(
    readFileSync("docs/settings.md", "utf8"),
    settingsPage(),
    "run: node --import tsx scripts/write-settings-doc.ts",
  );
});

test("docs – the example settings file equals the program's table", () => {
  assert.equal(
    readFileSync("config/gateside.env.example", "utf8"),
    envExample(),
    "run: node --import tsx scripts/write-settings-doc.ts",
  );
});

test("docs – the schema of the site file has what the features bring, in order", () => {
  assert.equal(
    JSON.stringify(JSON.parse(readFileSync("config/site.schema.json", "utf8"))),
    JSON.stringify(siteSchema()),
    "run: node --import tsx scripts/write-settings-doc.ts",
  );
});

test("docs – an installation uses its settings files, and the packages' settings file sets only what a new installation has", () => {
  for (const { dataDir, siteFile, files } of INSTALLATIONS) {
    for (const file of files) {
      // The instance's name is %i to systemd and $name to the shell.
      const text = readFileSync(file, "utf8").replace(/%i|\$name/g, "NAME");
      for (const value of [dataDir, siteFile])
        assert.match(
          text,
          new RegExp(`=${value.replaceAll(".", "\\.")}(\\s|$)`),
          `${file}: ${value}`,
        );
    }
  }
  const differing = readFileSync("packaging/gateside.env", "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
  assert.deepEqual(differing, ["PUBLISH_MACHINES=true"]);
});
