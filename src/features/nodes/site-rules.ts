/** Consistency of a sensor's `stateReads`: the members of each kind of read, and names that mean one value. */

import { shown } from "../../config/fault.ts";
import { dict, list } from "../../config/written-parts.ts";
import { SETTINGS_OPERATION_NAMES } from "../../core/command.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import type { JsonObject } from "../../core/record.ts";
import { REGISTER_TYPES, REGISTER_WORDS, REGISTERS_END } from "../../core/sensor.ts";

const SERVICE_MEMBERS = ["operation", "request", "fields"] as const;
const MODBUS_MEMBERS = ["url", "unit", "function", "wordOrder", "registers"] as const;
const REMEDIES: Readonly<Record<string, string>> = {
  operation: 'add the operation\'s name, e.g. "getVibrationState"',
  fields: 'name the values, e.g. { "battery": { "from": "Battery", "unit": "V" } }',
  url: 'give the device\'s address, e.g. "tcp://192.168.1.20:502"',
  registers: 'list them, e.g. { "address": 10, "type": "uint16", "value": "vel_rms1" }',
};

export function checkStateReads(
  sensor: JsonObject,
  place: string,
  faults: ConfigurationFault[],
): void {
  /** Where each value is named first, by its name in lower case: metrics and files may ignore case. */
  const named = new Map<string, string>();
  for (const [i, value] of list(sensor["stateReads"]).entries()) {
    const read = dict(value);
    if (read === null) continue;
    const at = `${place}.stateReads[${i}]`;
    const isModbus = read["via"] === "modbus";
    checkMembers(read, isModbus, at, faults);
    if (isModbus) checkModbus(read, at, named, faults);
    else {
      checkOperation(read["operation"], `${at}.operation`, faults);
      for (const name of Object.keys(dict(read["fields"]) ?? {})) {
        checkName(name, `${at}.fields.${name}`, named, faults);
      }
    }
  }
}

function checkMembers(
  read: JsonObject,
  isModbus: boolean,
  at: string,
  faults: ConfigurationFault[],
): void {
  const needed = isModbus ? (["url", "registers"] as const) : (["operation", "fields"] as const);
  for (const member of needed) {
    if (member in read) continue;
    const remedy = REMEDIES[member] ?? `add ${member}`;
    faults.push({ place: `${at}.${member}`, problem: "is missing", remedy });
  }
  for (const member of isModbus ? SERVICE_MEMBERS : MODBUS_MEMBERS) {
    if (!(member in read)) continue;
    faults.push({
      place: `${at}.${member}`,
      problem: isModbus ? "has no effect with via modbus" : "has an effect only with via modbus",
      remedy: isModbus ? "remove it" : 'add "via": "modbus", or remove it',
    });
  }
}

function checkOperation(operation: unknown, place: string, faults: ConfigurationFault[]): void {
  const isSame = (name: string) => name.toLowerCase() === String(operation).toLowerCase();
  if (!SETTINGS_OPERATION_NAMES.some(isSame)) return;
  faults.push({
    place,
    problem: `${shown(operation)} changes settings of the sensor`,
    remedy: "name an operation that reads; settings are changed by `gateside settings`",
  });
}

function checkModbus(
  read: JsonObject,
  at: string,
  named: Map<string, string>,
  faults: ConfigurationFault[],
): void {
  const { url } = read;
  if (typeof url === "string" && url.startsWith("tcp://") && !isTcpUrl(url)) {
    faults.push({
      place: `${at}.url`,
      problem: `${shown(url)} is not an address`,
      remedy: "use tcp://host:port, with a port from 1 to 65535",
    });
  }
  for (const [i, value] of list(read["registers"]).entries()) {
    const register = dict(value);
    if (register === null) continue;
    const { value: name, address, type } = register;
    const place = `${at}.registers[${i}]`;
    if (typeof name === "string") checkName(name, `${place}.value`, named, faults);
    const known = REGISTER_TYPES.find((one) => one === type);
    if (typeof address !== "number" || known === undefined) continue;
    if (address < REGISTERS_END && address + REGISTER_WORDS[known] > REGISTERS_END) {
      faults.push({
        place: `${place}.address`,
        problem: `${address} leaves no room for a ${known}, which takes two registers`,
        remedy: `use at most ${REGISTERS_END - REGISTER_WORDS[known]}`,
      });
    }
  }
}

function isTcpUrl(text: string): boolean {
  try {
    const { hostname, port } = new URL(text);
    return hostname !== "" && port !== "0";
  } catch {
    return false;
  }
}

function checkName(
  name: string,
  place: string,
  named: Map<string, string>,
  faults: ConfigurationFault[],
): void {
  const key = name.toLowerCase();
  const first = named.get(key);
  if (first === undefined) {
    named.set(key, place);
    return;
  }
  faults.push({
    place,
    problem: `${shown(name)} is already named at ${first}`,
    remedy: "use a different name for each value of a sensor",
  });
}
