import type { PolledKind } from "../../core/sensor.ts";

/*
 * The one table of wire names. Everywhere else, a field is called by its neutral name, the one listed here. A neutral
 * name contains the word "sensor" where a vendor's interface has its own product word; WireNames converts between the
 * two.
 */

/** How a record's field is read. */
export type FieldType = "number" | "text" | "boolean" | "time" | "code" | "channel";

export interface Field {
  readonly name: string;
  readonly type: FieldType;
}

/** Every record may contain these, although the documents list them only for some kinds (services section 3.3). */
const COMMON = {
  sensor_code: "code",
  battery: "number",
  battery_type: "number",
  module_temperature: "number",
  version: "number",
  time_data: "time",
} as const satisfies Record<string, FieldType>;

/** Record fields by kind (services 3.3 to 3.6). */
export const RECORD_FIELDS: Readonly<Record<PolledKind, Readonly<Record<string, FieldType>>>> = {
  accel: {
    ...COMMON,
    device: "text",
    calibration: "number",
    channel1: "channel",
    channel2: "channel",
    channel3: "channel",
    sample_rate: "number",
    sensor_type: "number",
    recording_reason: "number",
    temperature: "number",
    hasrealtime: "boolean",
    realnodetime: "time",
    sequence: "number",
    trigger: "number",
    trigger_type: "number",
  },
  current: { ...COMMON, ...numbers("current", 3) },
  currentV2: {
    ...COMMON,
    ...numbers("min_current", 4),
    ...numbers("max_current", 4),
    ...numbers("avg_current", 4),
  },
  accCurrent: {
    ...COMMON,
    ...numbers("accumulated_current", 4),
    startPeriod: "time",
    endPeriod: "time",
  },
  loop: { ...COMMON, ...numbers("channel", 4, "_voltage") },
  dryContact: {
    ...COMMON,
    input1: "boolean",
    input2: "boolean",
    input3: "boolean",
    input4: "boolean",
  },
  rpm: { ...COMMON, RPM: "number" },
};

function numbers(prefix: string, count: number, suffix = ""): Record<string, FieldType> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}${index + 1}${suffix}`);
  return Object.fromEntries(names.map((name) => [name, "number" as const]));
}

/** Read operation of each kind. */
export const READ_OPERATIONS: Readonly<Record<PolledKind, string>> = {
  accel: "getAccelData",
  current: "getCurrentData",
  currentV2: "getCurrentV2Data",
  accCurrent: "getAccCurrentData",
  loop: "get4_20GPData",
  dryContact: "getDryContactData",
  rpm: "getRPMData",
};

/** Operations that queue settings of a sensor: both generations; only the first generation. */
export const SETTINGS_OPERATIONS = {
  saveSettings: "saveSettings",
  updateConfig: "UpdateConfig",
} as const;

/** Request fields of the read operations. */
export const READ_REQUEST = { type: "sensorType", code: "sensorCode", date: "date" } as const;

/** Request fields of saveSettings. */
export const SAVE_SETTINGS_REQUEST = {
  type: "sensorType",
  code: "sensorCode",
  intervalSendData: "IntervalSendData",
  range: "Range",
  intervalRms: "IntervalRMS",
  alarm1: "alarm1",
  alarm2: "alarm2",
  alarm3: "alarm3",
} as const;

/** Request fields of UpdateConfig: other first letters, no type, and the code is text. */
export const UPDATE_CONFIG_REQUEST = {
  code: "sensorCode",
  intervalSendData: "intervalSendData",
  range: "range",
  intervalRms: "intervalRMS",
  alarm1: "alarm1",
  alarm2: "alarm2",
  alarm3: "alarm3",
} as const;

/** Members of every response, in both services. */
export const ENVELOPE = {
  key: "Key",
  configs: "Configs",
  value: "Value",
  statusNumber: "StatusNumber",
  description: "Description",
  /** Some servers wrap the response in a member named for the operation. */
  resultSuffix: "Result",
} as const;

/** The analytics service. */
export const API_SERVICE = "ApiWeb.svc";
export const API_OPERATIONS = {
  login: "Login",
  companies: "GetCompanies",
  areas: "GetAreas",
  machines: "GetMachines",
  points: "GetPoints",
  axes: "GetAxis",
  units: "GetUnits",
  currentMeasures: "GetCurrentMeasures",
  allCurrentMeasures: "GetAllCurrentMeasures",
  historyMeasures: "GetHistoryMeasures",
  allHistoryMeasures: "GetAllHistoryMeasures",
  devices: "GetDevices",
  devicesByCode: "GetDevicesByCode",
  allDevices: "GetAllDevices",
  dataBySensor: "GetDataBySensor",
  extraValues: "GetExtraValues",
  fftBase64: "GetFFT_Base64",
  fft: "GetFFT",
  sensorAssignedMachines: "GetSensorAssignedMachines",
} as const;

/** Request fields of the analytics service; letter case differs by operation and is kept (services 4.1). */
export const API_REQUEST = {
  token: "Token",
  email: "email",
  password: "password",
  companyID: "companyID",
  companyId: "companyId",
  idcompany: "idcompany",
  areaID: "areaID",
  areaId: "areaId",
  idarea: "idarea",
  machineCode: "machineCode",
  machinecode: "machinecode",
  pointIndex: "pointIndex",
  pointindex: "pointindex",
  axis: "axis",
  startDate: "StartDate",
  endDate: "EndDate",
  dateTime: "dateTime",
  getRms: "getRMS",
  sensorCodes: "sensorCodes",
  sensorCode: "sensorCode",
  code: "code",
  unit: "unit",
  fileid: "fileid",
  outputType: "OutputType",
  signalTypeOut: "SignalTypeOut",
  hz: "hz",
} as const;

/** Fields of the analytics service's responses (services section 4.2). */
export const API_NODE = {
  id: "Id",
  name: "Name",
  description: "Description",
  type: "Type",
} as const;
export const API_LOGIN = {
  token: "Token",
  dataBase: "DataBase",
  id: "Id",
  name: "Name",
  dbName: "DBName",
} as const;
export const API_DEVICE = {
  id: "ID",
  code: "code",
  model: "model",
  type: "type",
  channelCount: "channelCount",
  name: "name",
  description: "description",
  enabled: "enabled",
  batteryVoltage: "batteryVoltage",
  batteryType: "batteryType",
  temperature: "temperature",
  signalStrengthValue: "signalStrengthValue",
  firmwareVersion: "firmwareVersion",
  lastUpdateConfig: "lastUpdateConfig",
} as const;
export const API_MEASURES = {
  machineCode: "MachineCode",
  pointList: "pointList",
  pointIndex: "pointIndex",
  axisList: "axis",
  axis: "axis",
  signal: "signalAPI",
} as const;
export const API_SIGNAL = {
  fileId: "FileId",
  date: "Date",
  reason: "Reason",
  sampleRate: "SampleRate",
  calibration: "Calibration",
  sensitivity: "Sensitivity",
  accelRms: "AccelRMS",
  accelUnit: "AccelUnit",
  accelSeverity: "AccelSev",
  velocityRms: "VelRMS",
  velocityUnit: "VelUnit",
  velocitySeverity: "VelSev",
  envelopeRms: "EnvRMS",
  envelopeUnit: "EnvUnit",
  envelopeSeverity: "EnvSev",
} as const;
export const API_TABLE = { columns: "columns", data: "data" } as const;
/** Columns of the history table, in the order they are written (services 6). */
export const API_HISTORY_COLUMNS = [
  "MachineCode",
  "PointIndex",
  "Axis",
  "Date_Time",
  "Units",
  "Severity",
  "RealValue",
  "Reason",
] as const;
export const API_CHANNEL = {
  channel: "Channel",
  sensorCode: "SensorCode",
  sensorName: "SensorName",
  machineName: "MachineName",
  pointName: "PointName",
  values: "values",
  date: "Date",
  descUnit: "DescUnit",
  value: "Value",
  unit: "Unit",
} as const;
export const API_EXTRA_VALUE = {
  date: "date",
  value: "value",
  unit: "unit",
  descUnit: "descUnit",
} as const;
export const API_PACKED = {
  base64: "base64",
  sampleRate: "SR",
  type: "type",
  step: "step",
  start: "start",
} as const;
export const API_COORDINATES = { x: "X", y: "Y" } as const;
export const API_ASSIGNMENT = {
  machineCode: "MachineCode",
  pointIndex: "PointIndex",
  axis: "Axis",
} as const;
