/**
 * For the bundle: the schemas of settings, site and uplinks files are compiled to code at build time. At each start, that took a fifth
 * of the CPU time. Validation and messages are the same, because ajv generates the code in both cases.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { compileFunction } from "node:vm";
import { Ajv, type AnySchema, type Options } from "ajv";
import standaloneCode from "ajv/dist/standalone/index.js";
import type { Plugin } from "esbuild";
import { settingsSchema } from "../src/config/settings-table.ts";
import { FILE_SCHEMA_OPTIONS } from "../src/config/written-file.ts";

/** Importers of ajv that get the compiled schemas instead. */
const IMPORTERS = ["node_modules/env-schema/index.js", "src/config/written-file.ts"];
const NAMESPACE = "compiled-schemas";

interface Wanted {
  readonly options: Options;
  readonly schema: AnySchema;
}

export const compiledSchemas: Plugin = {
  name: "schemas are compiled",
  setup(build) {
    const wanted = [...ofEnvSchema(), ...ofFiles()];
    /** A bundler that builds again and again asks again and again. */
    const compiled = new Map<string, string>();
    const root = process.cwd();
    build.onResolve({ filter: /^ajv$/ }, ({ importer }) =>
      IMPORTERS.some((path) => importer === resolve(path))
        ? { path: "ajv", namespace: NAMESPACE }
        : null,
    );
    build.onResolve({ filter: /^compiled-schema:\d+$/ }, ({ path }) => ({
      path,
      namespace: NAMESPACE,
    }));
    build.onLoad({ filter: /^ajv$/, namespace: NAMESPACE }, () => ({
      contents: standIn(wanted),
      resolveDir: root,
    }));
    build.onLoad({ filter: /:\d+$/, namespace: NAMESPACE }, ({ path }) => {
      const one = wanted[Number(path.slice(path.indexOf(":") + 1))];
      if (one === undefined) throw new Error(path);
      const contents = compiled.get(path) ?? codeOf(one);
      compiled.set(path, contents);
      return { contents, resolveDir: root };
    });
  },
};

function codeOf({ options, schema }: Wanted): string {
  const ajv = new Ajv({ ...options, code: { source: true } });
  return standaloneCode(ajv, ajv.compile(schema));
}

/** Same options and same schema, same code. */
function keyOf({ options, schema }: Wanted): string {
  return JSON.stringify([options, schema]);
}

/** The part of ajv that the importers use. A schema that was not known at build time is compiled at run time. */
function standIn(wanted: readonly Wanted[]): string {
  const compiled = wanted.map(
    (one, index) => `[${JSON.stringify(keyOf(one))}, () => require("compiled-schema:${index}")]`,
  );
  return `const compiled = new Map([${compiled.join(",\n")}]);
    class Ajv {
      constructor(options) { this.options = options; this.errors = null; this.real = null; }
      get ajv() {
        require("node:util").debuglog("gateside")("a schema is compiled at run time");
        return this.real ??= new (require("ajv").Ajv)(this.options);
      }
      compile(schema) {
        return compiled.get(JSON.stringify([this.options, schema]))?.() ?? this.ajv.compile(schema);
      }
      validate(schema, data) {
        const validate = this.compile(schema);
        const isValid = validate(data);
        this.errors = validate.errors;
        return isValid;
      }
      errorsText(errors, options) { return require("ajv").Ajv.prototype.errorsText(errors, options); }
    }
    module.exports = Ajv;
    module.exports.Ajv = Ajv;`;
}

/** What env-schema passes to ajv, found by calling it: the options of its own instance are not exposed. */
function ofEnvSchema(): Wanted[] {
  const wanted = new Map<string, Wanted>();
  class Recorder {
    readonly ajv: Ajv;
    readonly options: Options;
    errors: unknown = null;
    constructor(options: Options) {
      this.options = options;
      this.ajv = new Ajv(options);
    }
    compile(schema: AnySchema) {
      const one = { options: this.options, schema: structuredClone(schema) };
      wanted.set(keyOf(one), one);
      return this.ajv.compile(schema);
    }
    validate(schema: AnySchema, data: unknown) {
      return this.compile(schema)(data);
    }
  }
  const path = resolve("node_modules", "env-schema", "index.js");
  const real = createRequire(path);
  const module = { exports: {} as (options: object) => unknown };
  const load = compileFunction(readFileSync(path, "utf8"), ["require", "module", "exports"]);
  load((name: string) => (name === "ajv" ? Recorder : real(name)), module, module.exports);
  module.exports({ schema: settingsSchema(), data: { GATEWAY_URL: "http://g" }, env: false });
  return [...wanted.values()];
}

function ofFiles(): Wanted[] {
  const read = (name: string) =>
    JSON.parse(readFileSync(join("config", name), "utf8")) as AnySchema;
  return [
    { options: FILE_SCHEMA_OPTIONS, schema: read("site.schema.json") },
    { options: FILE_SCHEMA_OPTIONS, schema: read("uplinks.schema.json") },
  ];
}
