/**
 * Which register contains what. The map only ever grows at its end: an added sensor or value gets the next free
 * block, a removed one keeps its block, so that an existing PLC program remains valid. Everything is a block of four
 * registers.
 */

import { successors } from "../../core/replacement.ts";
import { type Kind, normalCode, readingKinds, type Sensor } from "../../core/sensor.ts";
import { kindValues } from "../../core/sensors/kind-values.ts";
import { type Site } from "../../core/site.ts";
import { siteMachines } from "../../core/site-machines.ts";

/** Registers before the first block: map format, heartbeat, gateway, sensors, reserved (docs/modbus.md). */
export const HEADER_REGISTERS = 8;
export const BLOCK_REGISTERS = 4;
/** Addresses are 16 bits. */
const BLOCKS_MAX = Math.floor((65_536 - HEADER_REGISTERS) / BLOCK_REGISTERS);

/** A sensor's state, or the newest value of one of its kinds. */
export type SensorBlock =
  | { readonly sensor: string; readonly kind: null; readonly value: null }
  | { readonly sensor: string; readonly kind: Kind; readonly value: string };

/** One of the two blocks of a machine. */
export interface MachineBlock {
  readonly machine: number;
  readonly half: 0 | 1;
}

/** The content of a block. */
export type Block = SensorBlock | MachineBlock;

export const isOfMachine = (block: Block): block is MachineBlock => "machine" in block;

/**
 * A block as stored between starts: sensor, kind, value; the last two empty for a sensor's state. Of a machine: no
 * sensor, `machine`, and id/half.
 */
export type SavedBlock = readonly [sensor: string, kind: string, value: string];

/** Protocol address (from 0) of a block's first register. */
export function addressOf(index: number): number {
  return HEADER_REGISTERS + BLOCK_REGISTERS * index;
}

export class RegisterMap {
  readonly #blocks: Block[] = [];
  readonly #known = new Set<string>();
  /** Those that the site has now; the others were removed from it. */
  #current = new Set<string>();
  /** By the normalised code of a sensor that was replaced: its block goes on with the one in its place. */
  #successors: ReadonlyMap<string, Sensor> = new Map();
  /** The site's spelling of codes, by the normalised code. */
  #codes: ReadonlyMap<string, string> = new Map();
  /** Blocks that do not fit into the address space. */
  #left = 0;
  readonly #hasMachines: boolean;

  /** The saved map, completed with what the site has gained since. @param hasMachines PUBLISH_MACHINES */
  constructor(saved: readonly SavedBlock[], site: Site, hasMachines = false) {
    this.#hasMachines = hasMachines;
    for (const block of saved.slice(0, BLOCKS_MAX)) this.#append(loaded(block));
    this.extend(site);
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  /** Values of the site that have no address because there is no room. */
  get left(): number {
    return this.#left;
  }

  /** First address after the last block: reading it is exception 2. */
  get end(): number {
    return addressOf(this.#blocks.length);
  }

  /** Appends what the site has and the map lacks; true if there was anything. */
  extend(site: Site): boolean {
    const before = this.#blocks.length;
    this.#left = 0;
    this.#current = new Set();
    this.#successors = successors(site.sensors);
    this.#codes = new Map(site.sensors.map(({ code }) => [normalCode(code), code]));
    const taken = new Set(this.#blocks.map((block) => keyOf(this.served(block))));
    for (const sensor of site.sensors) {
      // It is not read, and its addresses are those of the sensor in its place.
      if (this.#successors.has(normalCode(sensor.code))) continue;
      this.#add({ sensor: sensor.code, kind: null, value: null }, taken);
      for (const block of valueBlocks(sensor)) this.#add(block, taken);
    }
    if (this.#hasMachines)
      for (const { id } of siteMachines(site).toSorted((a, b) => a.id - b.id)) this.#addMachine(id);
    return this.#blocks.length > before;
  }

  saved(): SavedBlock[] {
    return this.#blocks.map((block) =>
      isOfMachine(block)
        ? ["", MACHINE, `${block.machine}/${block.half}`]
        : [block.sensor, block.kind ?? "", block.value ?? ""],
    );
  }

  /** The block with the sensor whose values it has now: the one in the place of the sensor that it was made for. */
  served(block: SensorBlock): SensorBlock;
  served(block: Block): Block;
  served(block: Block): Block {
    if (isOfMachine(block)) return block;
    const code = normalCode(block.sensor);
    const sensor = this.#successors.get(code)?.code ?? this.#codes.get(code) ?? block.sensor;
    return sensor === block.sensor ? block : { ...block, sensor };
  }

  /** False: the site has the sensor, kind or value no longer. */
  isCurrent(block: Block): boolean {
    return this.#current.has(keyOf(this.served(block)));
  }

  #add(block: SensorBlock, taken: ReadonlySet<string>): void {
    this.#current.add(keyOf(block));
    if (this.#known.has(keyOf(block)) || taken.has(keyOf(block))) return;
    if (this.#blocks.length >= BLOCKS_MAX) this.#left += 1;
    else this.#append(block);
  }

  /** Both blocks of a machine, or none of them. */
  #addMachine(machine: number): void {
    const halves = ([0, 1] as const).map((half): MachineBlock => ({ machine, half }));
    for (const block of halves) this.#current.add(keyOf(block));
    if (halves.every((block) => this.#known.has(keyOf(block)))) return;
    if (this.#blocks.length + halves.length > BLOCKS_MAX) this.#left += halves.length;
    else for (const block of halves) this.#append(block);
  }

  #append(block: Block): void {
    this.#known.add(keyOf(block));
    this.#blocks.push(block);
  }
}

const MACHINE = "machine";

function loaded([sensor, kind, value]: SavedBlock): Block {
  const of = sensor === "" && kind === MACHINE ? /^(\d+)\/([01])$/.exec(value) : null;
  if (of !== null) return { machine: Number(of[1]), half: of[2] === "0" ? 0 : 1 };
  return kind === "" ? { sensor, kind: null, value: null } : { sensor, kind: kind as Kind, value };
}

function valueBlocks(sensor: Sensor): SensorBlock[] {
  return readingKinds(sensor).flatMap((kind) =>
    kindValues(sensor, kind)
      .filter(({ name, type }) => type !== "string" || isZone(name))
      .map(({ name }) => ({ sensor: sensor.code, kind, value: name })),
  );
}

/** Zones are the only text that a register can represent: A–D as 1–4. */
export function isZone(value: string): boolean {
  return value.endsWith("_zone");
}

function keyOf(block: Block): string {
  if (isOfMachine(block)) return JSON.stringify([block.machine, block.half]);
  return JSON.stringify([normalCode(block.sensor), block.kind, block.value]);
}
