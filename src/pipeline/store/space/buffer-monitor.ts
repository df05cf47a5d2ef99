import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { HoursState } from "../../../core/agent-status.ts";
import type { Runtime } from "../../../core/ports.ts";
import { type Database } from "../database/database.ts";
import { sizeOf } from "../database/database-file.ts";
import { ballastPath, dropBallast } from "./ballast.ts";
import type { BufferLimits } from "./buffer-limits.ts";
import type { Growth } from "./growth.ts";

interface MonitorParts extends Runtime {
  readonly db: Database;
  readonly limits: BufferLimits;
  readonly growth: Growth;
  /** What readings leave behind once they are gone: identities and hourly values, bytes. */
  readonly rememberedBytes: () => number;
  readonly diskFreeMinBytes: number;
  readonly diskFreeBytes: (() => number | null) | undefined;
}

const BALLAST_CHUNK_BYTES = 64 << 10;
/** A -shm takes 32 kB, the first pages of a -wal some more. */
const ROOM_TO_OPEN_BYTES = 128 << 10;

/**
 * The store may have this much although the disk has less free space than others are to be left: in a few pages nothing can be done.
 */
const LEAST_BYTES = 1 << 20;

/** A file with less room than this, of what it may have, is at its limit: a response may need as much. */
const LIMIT_SHARE = 0.25;

/** Without a commit only others change what displays show: how old it may be, ms. */
const SHOWN_MS = 30_000;

/** After so long it is tried whether a quota was raised, ms. */
const QUOTA_MS = 60_000;

/** What displays show. */
interface Sizes {
  readonly databaseBytes: number;
  readonly diskFreeBytes: number | null;
  readonly hoursUntilFull: number | null;
  readonly hours: Omit<HoursState, "limitBytes">;
}

/** Sizes: of our files, of the disk, and their growth. */
export class BufferMonitor {
  readonly #parts: MonitorParts;
  readonly #ballastPath: string;
  /** What the operator should know even while everything works; null if nothing. */
  alarm: string | null = null;
  #pendingShare = 0;
  #keptBytes = 0;
  #damagedBytes = 0;
  /** When a quota refused to grow, monotonic ms; null while it is not known to. */
  #quotaAt: number | null = null;
  #shown: { readonly sizes: Sizes; readonly commits: number; readonly atMs: number } | null = null;

  constructor(parts: MonitorParts) {
    this.#parts = parts;
    this.#ballastPath = ballastPath(dirname(parts.db.path));
  }

  start(): void {
    this.#tidyDamagedFiles();
    this.#parts.db.capPages(this.pagesMax);
    this.restoreBallast();
  }

  /** Damaged files that were set aside count, too: the newest stay while they use no more than a quarter. */
  #tidyDamagedFiles(): void {
    const { db, limits, logger } = this.#parts;
    const directory = dirname(db.path);
    const files = readdirSync(directory)
      .filter((name) => name.startsWith("gateside.db.corrupt-"))
      .sort()
      .reverse();
    let bytes = 0;
    for (const name of files) {
      const path = join(directory, name);
      const size = sizeOf(path);
      if (bytes + size <= limits.totalBytes / 4) bytes += size;
      else {
        rmSync(path, { force: true });
        logger.warn(
          { path, bytes: size },
          "removing a damaged database, because its space is needed for the buffer",
        );
      }
    }
    this.#damagedBytes = bytes;
  }

  /** The limit of the file, in its pages: without what is reserved for the memory of readings that are gone, and for the work of freeing space. */
  get pagesMax(): number {
    const { limits, rememberedBytes } = this.#parts;
    const reserveBytes = Math.max(limits.freeingBytes, limits.forgottenBytes - rememberedBytes());
    return this.#pagesOf(limits.fileBytesMax - this.#damagedBytes - reserveBytes);
  }

  #pagesOf(bytes: number): number {
    return Math.floor(bytes / this.#parts.db.pageBytes);
  }

  /** For displays, which ask every few seconds. `commits`: how many there were. */
  shown(commits: number, looked: () => Pick<Sizes, "hours" | "hoursUntilFull">): Sizes {
    const atMs = this.#parts.clock.monotonic();
    const last = this.#shown;
    if (last?.commits === commits && atMs - last.atMs < SHOWN_MS) return last.sizes;
    const sizes = {
      databaseBytes: this.filesBytes(),
      diskFreeBytes: this.diskFreeBytes(),
      ...looked(),
    };
    this.#shown = { sizes, commits, atMs };
    return sizes;
  }

  /** All files of the store, bytes. */
  filesBytes(): number {
    const { path } = this.#parts.db;
    const files = [path, `${path}-wal`, `${path}-shm`, this.#ballastPath];
    return files.reduce((sum, file) => sum + sizeOf(file), this.#damagedBytes);
  }

  /** What the disk has free says nothing for a while. */
  quotaRefused(): void {
    this.#quotaAt = this.#parts.clock.monotonic();
  }

  /** Free space of the disk, bytes; none while a quota refuses more; null if unknown. */
  diskFreeBytes(): number | null {
    if (this.#quotaAt !== null && this.#parts.clock.monotonic() - this.#quotaAt < QUOTA_MS)
      return 0;
    if (this.#parts.diskFreeBytes !== undefined) return this.#parts.diskFreeBytes();
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#parts.db.path));
      return bavail * bsize;
    } catch {
      return null;
    }
  }

  /** Pages of the file and how many of them are free. */
  pages(): { readonly all: number; readonly free: number } {
    const { db } = this.#parts;
    return {
      all: Number(db.write("PRAGMA page_count").pluck().get()),
      free: Number(db.write("PRAGMA freelist_count").pluck().get()),
    };
  }

  /** How far the free space of the disk is below the minimum, bytes; negative while it is above. */
  diskShortageBytes(): number {
    const free = this.diskFreeBytes();
    return free === null ? Number.NEGATIVE_INFINITY : this.#parts.diskFreeMinBytes - free;
  }

  /** The file is about as large as it may be: not the disk, but its limit refuses more. */
  isAtLimit(): boolean {
    const { all, free } = this.pages();
    return this.pagesAllowed(all) - all + free <= LIMIT_SHARE * this.pagesMax;
  }

  /** The disk, not the setting, keeps the store from growing. */
  isDiskShort(): boolean {
    const { all } = this.pages();
    return this.diskShortageBytes() > 0 || this.#pagesOnDisk(all) < this.pagesMax;
  }

  /** All that the store may ever use is free beside it. */
  isDiskAmple(): boolean {
    const { fileBytesMax, ballastBytes, checkpointBytes } = this.#parts.limits;
    return -this.diskShortageBytes() > fileBytesMax + 2 * (ballastBytes + checkpointBytes);
  }

  /** Pages the file may have now: the limit, or less if the disk has no space for it. */
  pagesAllowed(all: number): number {
    const { fileBytesMax } = this.#parts.limits;
    // A file of an earlier version has grown into what is reserved: nothing is given up for that.
    const grown = Math.min(all, this.#pagesOf(fileBytesMax - this.#damagedBytes));
    return Math.min(Math.max(this.pagesMax, grown), this.#pagesOnDisk(all));
  }

  /** Pages the file may have while space is being freed: what is reserved for that, on a disk that others fill as well. */
  pagesWithReserve(all: number): number {
    const { fileBytesMax, freeingBytes } = this.#parts.limits;
    const onDisk = Math.max(this.#pagesOnDisk(all), all + this.#pagesOf(freeingBytes));
    return Math.min(this.#pagesOf(fileBytesMax - this.#damagedBytes), onDisk);
  }

  #pagesOnDisk(all: number): number {
    // A checkpoint that cannot write stops everything: its space, and the ballast's, must not be used for growth.
    const { ballastBytes, checkpointBytes } = this.#parts.limits;
    const { path } = this.#parts.db;
    const held = sizeOf(`${path}-wal`) + sizeOf(this.#ballastPath);
    const reserve = Math.max(0, ballastBytes + 2 * checkpointBytes - held);
    const roomBytes = -this.diskShortageBytes() - reserve;
    const room = this.#pagesOf(roomBytes);
    // With the floor alone in the way.
    const roomForLeast = this.#pagesOf(roomBytes + this.#parts.diskFreeMinBytes);
    const least = Math.min(this.#pagesOf(LEAST_BYTES), all + roomForLeast);
    return Math.max(all, all + room, least);
  }

  dropBallast(): boolean {
    return dropBallast(dirname(this.#parts.db.path));
  }

  restoreBallast(): void {
    const { ballastBytes } = this.#parts.limits;
    if (sizeOf(this.#ballastPath) === ballastBytes) return;
    if (this.diskShortageBytes() > -2 * ballastBytes) return;
    this.#writeBallast(ballastBytes);
  }

  /**
   * After a clean stop the -wal and its -shm are gone: without a ballast some of their space is kept for the next
   * start.
   */
  keepRoomToOpen(): void {
    const bytes = Math.min(ROOM_TO_OPEN_BYTES, this.diskFreeBytes() ?? 0);
    if (bytes > 0 && sizeOf(this.#ballastPath) === 0) this.#writeBallast(bytes);
  }

  /** Written with zeros, not just sized: a sparse file reserves nothing. */
  #writeBallast(bytes: number): void {
    try {
      const file = openSync(this.#ballastPath, "w", 0o640);
      try {
        const chunk = new Uint8Array(BALLAST_CHUNK_BYTES);
        for (let written = 0; written < bytes; ) {
          written += writeSync(file, chunk, 0, Math.min(chunk.length, bytes - written));
        }
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      rmSync(this.#ballastPath, { force: true });
      this.#parts.logger.debug({ err: error }, "no room for the ballast file");
    }
  }

  /**
   * Records the share of stored readings that is still pending: the rest could be deleted for new ones, except for what
   * is kept for years, bytes.
   */
  sample(pendingShare: number, keptBytes: number): void {
    this.#pendingShare = pendingShare;
    this.#keptBytes = keptBytes;
  }

  /** Hours of outage that fit into the free space at the rate of the last day; null until it is known. */
  hoursUntilFull(): number | null {
    if (!this.#parts.db.isOpen) return null;
    const { pageBytes } = this.#parts.db;
    const bytesPerHour = this.#parts.growth.bytesPerHour();
    if (bytesPerHour === null) return null;
    const { all, free } = this.pages();
    const others = Math.max(0, all - free - this.#keptBytes / pageBytes);
    const room = this.pagesAllowed(all) * pageBytes - this.#keptBytes;
    const roomBytes = room - others * this.#pendingShare * pageBytes;
    return Math.max(0, roomBytes / bytesPerHour);
  }
}
