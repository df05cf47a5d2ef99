/** The content of the registers at the moment of a request; nothing is kept between requests. */

import type { JsonValue } from "../../core/record.ts";
import type { Kind } from "../../core/sensor.ts";
import type { NewestReading } from "../../pipeline/store/readings/newest-readings.ts";
import {
  addressOf,
  BLOCK_REGISTERS,
  type Block,
  HEADER_REGISTERS,
  isOfMachine,
  isZone,
  type MachineBlock,
  type RegisterMap,
} from "./register-map.ts";

/** Version of the layout, in register 0; a change that moves a register is a new one. */
const MAP_FORMAT = 1;
/** A status register is quality × 16384 + age: two bits and fourteen. */
const QUALITY_SHIFT = 14;
const AGE_MAX_S = (1 << QUALITY_SHIFT) - 1;
const WORD_MAX = 0xffff;
const QUALITY = { good: 0, uncertain: 1, bad: 2, stale: 3 } as const;
const STATE = { unknown: 0, online: 1, silent: 2, removed: 3 } as const;
const ZONES = ["A", "B", "C", "D"];
const RUNNING_UNKNOWN = 2;

export interface SensorCondition {
  readonly state: keyof typeof STATE;
  readonly lastReadingMs: number | null;
  readonly batteryV: number | null;
}

/** The source of the register values. */
export interface RegisterSource {
  /** The gateway's clock, ms: ages are measured by it. */
  now(): number;
  /** Seconds since the agent started. */
  uptimeS(): number;
  isGatewayUp(): boolean;
  sensors(): number;
  /** The newest reading that went live; null before the first. */
  newest(sensor: string, kind: Kind): NewestReading | null;
  /** True when a kind of a sensor has missed three expected intervals. */
  isStale(sensor: string, kind: Kind): boolean;
  condition(sensor: string): SensorCondition;
  /** Null while nothing is known of it, and once it was removed. */
  machine(id: number): MachineRegisters | null;
}

/** What the registers of machines are filled from. */
export interface MachinePort {
  /** Keeps them current until the returned function is called. */
  follow(): () => void;
  registers(): ReadonlyMap<number, MachineRegisters>;
}

export interface MachineRegisters {
  /** 1 to 6, the worst first. */
  readonly condition: number;
  readonly zone: string | null;
  readonly stage: number | null;
  readonly running: boolean | null;
  /** Open alarms and warnings. */
  readonly open: number;
  /** Of its newest judged reading; null: none. */
  readonly judgedMs: number | null;
}

export class RegisterImage {
  readonly #map: RegisterMap;
  readonly #source: RegisterSource;
  readonly #wordOrder: "big" | "little";
  readonly #float = new DataView(new ArrayBuffer(4));

  constructor(map: RegisterMap, source: RegisterSource, wordOrder: "big" | "little") {
    this.#map = map;
    this.#source = source;
    this.#wordOrder = wordOrder;
  }

  /** `count` registers from `address`; null if one of them does not exist. */
  read(address: number, count: number): number[] | null {
    const end = address + count;
    if (end > this.#map.end) return null;
    const registers: number[] = [];
    if (address < HEADER_REGISTERS) registers.push(...this.#header().slice(address, end));
    const first = Math.max(0, Math.floor((address - HEADER_REGISTERS) / BLOCK_REGISTERS));
    for (let index = first; addressOf(index) < end; index++) {
      const block = this.#map.blocks[index];
      if (block === undefined) return null;
      const start = addressOf(index);
      registers.push(
        ...this.#block(block).slice(Math.max(0, address - start), Math.max(0, end - start)),
      );
    }
    return registers;
  }

  #header(): number[] {
    const { uptimeS, isGatewayUp, sensors } = {
      uptimeS: Math.floor(this.#source.uptimeS()) & WORD_MAX,
      isGatewayUp: this.#source.isGatewayUp() ? 1 : 0,
      sensors: Math.min(WORD_MAX, this.#source.sensors()),
    };
    return [MAP_FORMAT, uptimeS, isGatewayUp, sensors, 0, 0, 0, 0];
  }

  #block(block: Block): number[] {
    if (isOfMachine(block)) return this.#machineBlock(block);
    const { sensor, kind, value } = this.#map.served(block);
    return kind === null
      ? this.#sensorBlock(sensor)
      : this.#valueBlock(sensor, kind, value, this.#map.isCurrent(block));
  }

  #machineBlock(block: MachineBlock): number[] {
    const known = this.#map.isCurrent(block) ? this.#source.machine(block.machine) : null;
    if (block.half === 0) {
      const { condition = 0, zone = null, stage = null, running = null } = known ?? {};
      const state = running === null ? RUNNING_UNKNOWN : Number(running);
      return [condition, zone === null ? 0 : ZONES.indexOf(zone) + 1, stage ?? 0, state];
    }
    const { open = 0, judgedMs = null } = known ?? {};
    const age = judgedMs === null ? WORD_MAX : this.#ageS(judgedMs, WORD_MAX - 1);
    return [Math.min(WORD_MAX - 1, open), age, 0, 0];
  }

  #sensorBlock(sensor: string): number[] {
    const { state, lastReadingMs, batteryV } = this.#source.condition(sensor);
    const battery =
      batteryV === null ? WORD_MAX : Math.min(WORD_MAX - 1, Math.round(batteryV * 1000));
    return [STATE[state], this.#ageS(lastReadingMs, WORD_MAX), Math.max(0, battery), 0];
  }

  /** A value that was removed from the site file has no newest one, although its sensor or kind may. */
  #valueBlock(sensor: string, kind: Kind, value: string, isCurrent: boolean): number[] {
    const newest = isCurrent ? this.#source.newest(sensor, kind) : null;
    const number = newest === null ? null : numberOf(value, newest.values[value] ?? null);
    const doubt = newest?.quality[value]?.quality;
    const isBad = number === null || doubt === "bad";
    const quality = isBad
      ? QUALITY.bad
      : this.#source.condition(sensor).state === "removed" || this.#source.isStale(sensor, kind)
        ? QUALITY.stale
        : doubt === "uncertain"
          ? QUALITY.uncertain
          : QUALITY.good;
    const status = (quality << QUALITY_SHIFT) | this.#ageS(newest?.timeMs ?? null, AGE_MAX_S);
    return [...this.#words(isBad ? Number.NaN : number), status, 0];
  }

  #ageS(timeMs: number | null, max: number): number {
    if (timeMs === null) return max;
    return Math.min(max, Math.max(0, Math.floor((this.#source.now() - timeMs) / 1000)));
  }

  #words(value: number): [number, number] {
    this.#float.setFloat32(0, value);
    const high = this.#float.getUint16(0);
    const low = this.#float.getUint16(2);
    return this.#wordOrder === "big" ? [high, low] : [low, high];
  }
}

/** Contacts are 0 and 1, zones A–D 1 to 4; null if a register cannot represent it. */
function numberOf(name: string, value: JsonValue): number | null {
  if (typeof value === "number") return Number.isFinite(Math.fround(value)) ? value : null;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string" && isZone(name)) {
    const zone = ZONES.indexOf(value);
    return zone < 0 ? null : zone + 1;
  }
  return null;
}
