/** The two files over HTTP: read, checked, replaced, and restored from one of their versions. */
import { input, OBJECT, type Schema } from "../../core/schema.ts";
import { type Operation, SETUP_OFF } from "../../http/api-operation.ts";
import { integer } from "../../http/api-schemas.ts";
import {
  FILE_CHECK,
  FILE_VERSIONS,
  SAVED_FILE,
  SITE_TEXT,
  SITE_VERSION,
  UPLINKS_CONTENT,
  UPLINKS_VERSION,
} from "./shown.ts";

const VERSION = input({ version: integer(1, 999_999_999) }, ["version"]);

const NOT_KEPT = { ...SETUP_OFF, 404: "This version is not kept." } as const;
const SAVE_REFUSED = {
  409: "Another change is being saved, or a signed configuration is on trial.",
  412: "The file was changed in the meantime; the response contains its hash, its content and the changes it would make.",
  422: "The file contains errors; the response lists them with their locations. Nothing was changed.",
  428: "If-Match is missing.",
  500: "The file could not be written; nothing was changed.",
} as const;

interface FileDescription {
  readonly a: string;
  readonly what: string;
  readonly base: string;
  readonly versions: string;
  readonly also: Readonly<Record<number, string>>;
  /** What is said of secrets. */
  readonly secrets: string;
  /** Name of the parsed file in responses. */
  readonly member: "site" | "content";
  readonly body: Schema<object>;
  readonly content: Schema<object>;
  readonly version: Schema<object>;
}

/** The site file, and the uplinks file without its secrets. Each is validated by its own schema, which names each error. */
const FILES: Readonly<Record<"site" | "uplinks", FileDescription>> = {
  site: {
    a: "a site file",
    what: "site",
    base: "/api/v1/setup/site",
    versions: "/api/v1/setup/versions",
    also: SETUP_OFF,
    secrets: "",
    member: "site",
    body: { ...OBJECT, description: "A whole site file." },
    content: SITE_TEXT,
    version: SITE_VERSION,
  },
  uplinks: {
    a: "an uplinks file",
    what: "uplinks",
    base: "/api/v1/setup/uplinks",
    versions: "/api/v1/setup/uplinks/versions",
    also: { ...SETUP_OFF, 404: "UPLINKS_FILE is not set." },
    secrets: ", without secrets",
    member: "content",
    body: {
      ...OBJECT,
      description:
        "A whole uplinks file; values shown as ******** stay unchanged, and `password` and `sasKey` of an uplink are written to files.",
    },
    content: UPLINKS_CONTENT,
    version: UPLINKS_VERSION,
  },
};

function operationsOf(file: FileDescription) {
  const { a, what, base, versions, also, secrets, member, body } = file;
  const saved = { response: "The new hash and the changes.", schema: SAVED_FILE } as const;
  return {
    read: {
      path: base,
      method: "get",
      summary: `The current ${what} file${secrets}. Its hash is also the ETag.`,
      also,
      response: `The file; \`${member}\` is null if it is not JSON.`,
      schema: file.content,
    },
    check: {
      path: `${base}/check`,
      method: "post",
      asks: true,
      ...(what === "uplinks" && { role: "all" }),
      summary: `Checks ${a} without writing it, and lists the changes it would make.`,
      body,
      also,
      response: "Faults, warnings and changes.",
      schema: FILE_CHECK,
    },
    save: {
      path: base,
      method: "put",
      summary: `Replaces the ${what} file and applies the difference. If-Match carries the hash of the file that was edited. Audited.`,
      body,
      also: { ...also, ...SAVE_REFUSED },
      ...saved,
    },
    versions: {
      path: versions,
      method: "get",
      summary: `The last ten ${what} files that were replaced here, newest first.`,
      also,
      response: "The versions.",
      schema: FILE_VERSIONS,
    },
    version: {
      path: `${versions}/{version}`,
      method: "get",
      summary: `One version,${secrets && " without secrets,"} and the changes that restoring it would make.`,
      params: VERSION,
      also: NOT_KEPT,
      response: "The file.",
      schema: file.version,
    },
    restore: {
      path: `${versions}/{version}/restore`,
      method: "post",
      summary: "Restores a version. If-Match as for a change. Audited.",
      params: VERSION,
      also: { ...SAVE_REFUSED, ...NOT_KEPT },
      ...saved,
    },
  } as const satisfies Record<string, Operation>;
}

export const SITE = operationsOf(FILES.site);
export const UPLINKS = operationsOf(FILES.uplinks);
export const FILE_OPERATIONS: readonly Operation[] = [SITE, UPLINKS].flatMap((file) =>
  Object.values<Operation>(file),
);
export type FileOperations = ReturnType<typeof operationsOf>;
