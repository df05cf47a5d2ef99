/** The bundle dist/collect.js: what only the receiving end needs (PostgreSQL, AMQP) is loaded only by its commands. */
export { collect } from "./collect.ts";
export { type FleetBox, readFleet } from "./fleet/fleet.ts";
export { type FleetMachine, type FleetMachines, readMachines } from "./fleet/machines.ts";
export { retireBox } from "./fleet/retire.ts";
export { MeasurementFile, type ParquetRow } from "./parquet/measurement-file.ts";
export {
  knowsSite,
  readMeasurements,
  readSiteDays,
  type SiteDay,
} from "./parquet/read-database.ts";
