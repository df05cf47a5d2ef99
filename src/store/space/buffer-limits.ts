const MIB = 1 << 20;
export const PAGE_BYTES = 4096;

/** How BUFFER_MAX_MB is shared out, so that all files together stay below it. */
export interface BufferLimits {
  readonly totalBytes: number;
  /** max_page_count of the database file. */
  readonly pagesMax: number;
  /** Size of the file that is given up so that a full disk can be worked out of. */
  readonly ballastBytes: number;
  /** What the -wal may need. */
  readonly walBytes: number;
  readonly checkpointPages: number;
  /** What identities of removed readings may take. */
  readonly forgottenBytes: number;
  /** Commands kept: a twentieth of the buffer at 1500 bytes each. */
  readonly commandsMax: number;
}

const FORGOTTEN_SHARE = 0.1;

const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));

/** What a removed reading costs in the memory of identities where its stream has one a minute, bytes. */
const FORGOTTEN_READING_BYTES = 6.3;

/** Removed readings, one a minute of each stream, that a buffer of this size recognises when the gateway shows them again. */
export function recognisedReadings(totalBytes: number): number {
  return Math.floor((totalBytes * FORGOTTEN_SHARE) / FORGOTTEN_READING_BYTES);
}

export function shareBuffer(totalBytes: number): BufferLimits {
  const ballastBytes = clamp(totalBytes / 32, MIB / 4, 4 * MIB);
  const walBytes = clamp(totalBytes / 8, MIB, 64 * MIB);
  const shmBytes = MIB / 16;
  const fileBytes = totalBytes - ballastBytes - walBytes - shmBytes;
  return {
    totalBytes,
    pagesMax: Math.floor(fileBytes / PAGE_BYTES),
    ballastBytes: Math.floor(ballastBytes),
    walBytes,
    checkpointPages: Math.floor(clamp(walBytes / PAGE_BYTES / 4, 64, 500)),
    forgottenBytes: Math.floor(totalBytes * FORGOTTEN_SHARE),
    commandsMax: Math.floor(totalBytes / 20 / 1500),
  };
}
