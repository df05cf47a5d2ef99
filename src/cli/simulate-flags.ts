import type { FlagSpec } from "./command.ts";

/** Flags of `simulate`, for the table of commands. */
export const SIMULATE_FLAGS: readonly FlagSpec[] = [
  { name: "port", value: "PORT", doc: "port to listen on; 0 = any free port", default: "8733" },
  { name: "host", value: "ADDRESS", doc: "address to listen on", default: "127.0.0.1" },
  { name: "seed", value: "N", doc: "seed of the plant", default: "1" },
  { name: "sensors", value: "N", doc: "number of sensors; seven cover all kinds", default: "14" },
  {
    name: "speed",
    value: "X",
    doc: "how many times faster time passes in the plant",
    default: "1",
  },
  { name: "zone", value: "ZONE", doc: "IANA time zone of the gateway (default: this machine's)" },
  { name: "site-out", value: "FILE", doc: "write a site file for this plant" },
  {
    name: "settings-dir",
    value: "DIR",
    doc: "directory for queued sensor settings, one file per sensor",
  },
  {
    name: "fault",
    value: "NAME[:OPTIONS]",
    doc: "enable a fault, e.g. cut:probability=0.1 (GET /sim/faults lists them)",
    many: true,
  },
  {
    name: "wiring",
    value: "FAULT",
    doc: "wire all sensors wrongly: reversed, doubled, lost-samples, flat-tops or dead-gate",
    many: true,
  },
  {
    name: "generation",
    value: "1|2",
    doc: "gateway generation; 1 has UpdateConfig",
    default: "2",
  },
  {
    name: "empty-day",
    value: "FORM",
    doc: "response for a day without records: empty, null, missing, empty-array, or a status number",
    default: "empty",
  },
  {
    name: "day-rule",
    value: "FIELD",
    doc: "time that decides the day of a waveform: time_data or realnodetime",
    default: "time_data",
  },
  { name: "strict-types", doc: "reject a string where an integer is expected, and vice versa" },
  {
    name: "fault-status",
    value: "400|500",
    doc: "HTTP status if the date is not a day",
    default: "400",
  },
  {
    name: "settings-order",
    value: "NUMBERS",
    doc: "order of the checks of saveSettings",
    default: "506,502,503,504,505",
  },
  {
    name: "settings-answer",
    value: "FORM",
    doc: "response of saveSettings: envelope, bare, key-only or wrapped",
    default: "envelope",
  },
  {
    name: "state-operation",
    value: "NAME[:FIELD=WHAT,…]",
    doc: "serve a read operation for stateReads, e.g. getVibrationState:Battery=battery,FW=firmware",
    many: true,
  },
  {
    name: "state-registers",
    value: "PORT",
    doc: "serve the nodes' states as Modbus TCP registers, ten per sensor; 0 = any free port",
  },
  { name: "word", value: "WORD", doc: "the vendor's word in wire names", default: "sensor" },
  { name: "service", value: "PATH", doc: "path of the service", default: "SensorService.svc" },
];
