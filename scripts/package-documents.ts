/**
 * The documents inside a package, laid out as in the checkout, so that their links work: from a path below the checkout to one below the
 * package's root.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";

const DOCUMENTS = "usr/share/doc/gateside";
/** Scripts among them are meant to be run: not below /usr/share/doc. */
const DEPLOY = "usr/share/gateside";

const SINGLE = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "config/README.md",
  "config/gateside.env.example",
  "config/grafana-dashboard.json",
  "config/prometheus-alerts.yml",
  "config/site.schema.json",
  "config/uplinks.schema.json",
];
const FOLDERS = ["config/examples", "docs"];

export interface PackagedFile {
  readonly from: string;
  readonly to: string;
  readonly isExecutable: boolean;
}

/** A link inside the package, relative to its own folder. */
export interface PackagedLink {
  readonly at: string;
  readonly target: string;
}

export function packagedDocuments(root: string): readonly PackagedFile[] {
  const files = [...SINGLE, ...FOLDERS.flatMap((folder) => filesBelow(root, folder))];
  return [
    ...files.map((from) => ({ from, to: join(DOCUMENTS, from), isExecutable: false })),
    ...filesBelow(root, "deploy").map((from) => ({
      from,
      to: join(DEPLOY, from),
      isExecutable: from.endsWith(".sh"),
    })),
  ];
}

export const PACKAGED_LINKS: readonly PackagedLink[] = [
  { at: join(DOCUMENTS, "deploy"), target: "../../gateside/deploy" },
  // Where packages before 0.3 had them.
  { at: join(DOCUMENTS, "examples"), target: "config/examples" },
];

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(root, path) : [path];
    })
    .sort();
}
