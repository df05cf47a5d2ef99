/** config/site.schema.json: the schema of the site file with the members that features bring (`site-schema.json` in their folders). */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { SPECS } from "../src/features/specs.ts";

type Schemas = Record<string, object>;

interface Schema {
  readonly definitions: Record<string, { properties: Schemas }>;
}

/** What a feature adds. */
interface Fragment {
  /** Members of a definition, by its name. */
  readonly properties: Readonly<
    Record<string, Readonly<Record<string, { readonly after: string; readonly schema: object }>>>
  >;
  readonly definitions?: Schema["definitions"];
}

const SRC = resolve(import.meta.dirname, "../src");
const parse = (...path: readonly string[]): unknown =>
  JSON.parse(readFileSync(join(SRC, ...path), "utf8"));

/** Not yet in the form of the formatter. */
export function siteSchema(): object {
  const schema = parse("config/site-schema.json") as Schema;
  for (const { name } of SPECS) {
    if (!existsSync(join(SRC, "features", name, "site-schema.json"))) continue;
    const { properties, definitions = {} } = parse(
      "features",
      name,
      "site-schema.json",
    ) as Fragment;
    for (const [definition, members] of Object.entries(properties)) {
      const target = schema.definitions[definition];
      if (target === undefined) throw new Error(`the site file has no ${definition}`);
      for (const [member, { after, schema: own }] of Object.entries(members))
        target.properties = placedAfter(target.properties, after, [member, own]);
    }
    Object.assign(schema.definitions, definitions);
  }
  return schema;
}

function placedAfter(members: Schemas, after: string, entry: readonly [string, object]): Schemas {
  const entries = Object.entries(members);
  const at = entries.findIndex(([name]) => name === after);
  return Object.fromEntries(entries.toSpliced(at < 0 ? entries.length : at + 1, 0, [...entry]));
}
