/** The operations of the query service, and the fields of their requests (services section 4.1, contract section 7). */

import { byName, namesOf } from "../../../core/lists/by-name.ts";
import { API_OPERATIONS, API_REQUEST } from "../../../pipeline/wire/names.ts";

/** filter: an integer where −1, null and missing mean "any" · code: text, or a number for it. */
type RequestFieldType = "integer" | "filter" | "text" | "code" | "boolean" | "date";

export interface FieldSpec {
  /** Neutral name (wire/names.ts). */
  readonly name: string;
  readonly type: RequestFieldType;
  readonly isRequired: boolean;
  /** The only values allowed, if the set is limited. */
  readonly values?: readonly number[];
}
export interface OperationSpec {
  readonly name: string;
  readonly fields: readonly FieldSpec[];
  /** `Value` of a failure: an object for GetFFT_Base64, otherwise an array. */
  readonly isObject: boolean;
}

const F = API_REQUEST;
const O = API_OPERATIONS;
const required = (name: string, type: RequestFieldType, values?: readonly number[]): FieldSpec => ({
  name,
  type,
  isRequired: true,
  ...(values && { values }),
});
const optional = (name: string, type: RequestFieldType): FieldSpec => ({
  name,
  type,
  isRequired: false,
});
const DATES = [optional(F.startDate, "date"), optional(F.endDate, "date")];
const HISTORY = [
  required(F.machinecode, "integer"),
  required(F.pointindex, "integer"),
  required(F.axis, "integer"),
  ...DATES,
  optional(F.getRms, "boolean"),
];

const FIELDS: Readonly<Record<keyof typeof API_OPERATIONS, readonly FieldSpec[]>> = {
  login: [required(F.email, "text"), required(F.password, "text")],
  companies: [],
  areas: [optional(F.idcompany, "filter")],
  machines: [optional(F.idarea, "filter")],
  points: [optional(F.machinecode, "filter")],
  axes: [required(F.pointindex, "integer"), required(F.machinecode, "integer")],
  units: [],
  currentMeasures: [
    optional(F.companyID, "filter"),
    optional(F.areaID, "filter"),
    optional(F.machineCode, "filter"),
    optional(F.pointIndex, "filter"),
    optional(F.axis, "filter"),
  ],
  allCurrentMeasures: [optional(F.dateTime, "date")],
  historyMeasures: HISTORY,
  allHistoryMeasures: HISTORY,
  devices: [
    optional(F.companyId, "filter"),
    optional(F.areaId, "filter"),
    optional(F.machineCode, "filter"),
    optional(F.pointIndex, "filter"),
  ],
  devicesByCode: [required(F.sensorCodes, "text")],
  allDevices: [],
  dataBySensor: [required(F.sensorCode, "integer"), ...DATES],
  extraValues: [
    required(F.machinecode, "integer"),
    required(F.pointindex, "integer"),
    required(F.unit, "integer"),
    ...DATES,
  ],
  fftBase64: [
    required(F.machinecode, "integer"),
    required(F.pointindex, "integer"),
    required(F.fileid, "integer"),
    required(F.outputType, "integer", [1, 2]),
    required(F.signalTypeOut, "integer", [0, 1, 2, 3, 4, 5, 6]),
    optional(F.axis, "boolean"),
    optional(F.hz, "boolean"),
  ],
  fft: [required(F.machinecode, "integer"), required(F.fileid, "integer")],
  sensorAssignedMachines: [required(F.code, "code")],
};

export type OperationKey = keyof typeof API_OPERATIONS;
export const OPERATION_KEYS = namesOf(FIELDS);

export const OPERATIONS = byName(
  OPERATION_KEYS,
  (key): OperationSpec => ({ name: O[key], fields: FIELDS[key], isObject: key === "fftBase64" }),
);
