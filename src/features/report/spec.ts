/** The report on a machine for people who do not use the dashboard (plant section 20). */
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import { READ_UNITS } from "../../core/read-units.ts";
import { input } from "../../core/schema.ts";
import { MACHINE_ID, type Operation } from "../../http/api-operation.ts";
import { choice, INSTANT } from "../../http/api-schemas.ts";
import type { FeatureSpec } from "../feature.ts";
import { REPORT } from "./rules/input.ts";

export const REPORT_PAGE = {
  path: "/api/v1/machines/{id}/report",
  method: "get",
  summary:
    "The report on a machine as one HTML document. Without a time range, the last 30 days. Units of single quantities replace those of `units`.",
  params: MACHINE_ID,
  query: input({
    from: INSTANT,
    to: INSTANT,
    units: choice(["metric", "us"], "metric"),
    velocity: choice(READ_UNITS.velocity),
    displacement: choice(READ_UNITS.displacement),
    acceleration: choice(READ_UNITS.acceleration),
    temperature: choice(READ_UNITS.temperature),
    frequency: choice(READ_UNITS.frequency),
  }),
  also: { 404: "No machine of this id." },
  response: "Its title, and the document: inline SVG, no script, nothing loaded.",
  schema: REPORT,
} as const satisfies Operation;

export const REPORT_SPEC = {
  name: "report",
  operations: [REPORT_PAGE],
  commands: [
    {
      name: "report",
      summary: "write the report on a machine as one HTML document",
      details:
        "State, findings with evidence and spectra, trends with limits, alarms of the period and open notes: inline SVG, no script, nothing loaded. Print it from a browser.\nExit code 0, or 1 for an unknown machine (with the list of those there are) or if there is neither an agent nor a store.\nWhile the agent is stopped, the report is made from its store. Days and times without a zone are in GATEWAY_TIMEZONE.",
      flags: [
        {
          name: "machine",
          value: "ID|NAME",
          doc: "the machine, by number or by name",
          required: true,
        },
        { name: "days", value: "N", doc: "length of the period; default: 30" },
        { name: "from", value: "TIME", doc: "start of the period, instead of --days" },
        { name: "to", value: "TIME", doc: "end of the period; default: now" },
        {
          name: "units",
          value: "UNITS",
          doc: "metric (mm/s, µm, °C) or us (in/s, mils, °F)",
          default: "metric",
        },
        { name: "out", value: "FILE", doc: "where to write it; - for stdout", default: "-" },
        { name: "url", value: "URL", doc: "address of the agent's HTTP server" },
        ENVIRONMENT_FLAG,
      ],
      examples: ["gateside report --machine 40 --out pump-4.html"],
      load: () => import("./command.ts"),
    },
  ],
  after: { operations: "/api/v1/machines", commands: "rollback" },
} as const satisfies FeatureSpec;
