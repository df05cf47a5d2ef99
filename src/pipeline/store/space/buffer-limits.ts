const MIB = 1 << 20;

/** How BUFFER_MAX_MB is divided, so that all files together stay below it. */
export interface BufferLimits {
  readonly totalBytes: number;
  /** Size of the database file. */
  readonly fileBytesMax: number;
  /** Size of the file that is deleted to recover from a full disk. */
  readonly ballastBytes: number;
  /** What the -wal may need. */
  readonly walBytes: number;
  /** Nothing is written to a -wal of this size that a reader keeps from being shortened; from half of it on, little. */
  readonly heldLogBytes: number;
  /** Size of the -wal at which it is copied into the file. The longer it is, the more versions of a page one copy covers. */
  readonly checkpointBytes: number;
  /** Limit for identities of removed readings. */
  readonly forgottenBytes: number;
  /** Kept free in the file: freeing space takes some pages first. */
  readonly freeingBytes: number;
  /** Limit for hourly values. */
  readonly hoursBytes: number;
  /** Commands kept: a twentieth of the buffer at 1500 bytes each. */
  readonly commandsMax: number;
}

const FORGOTTEN_SHARE = 0.1;

const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));

/** Size of a removed reading in the memory of identities if its stream has one a minute, bytes. */
const FORGOTTEN_READING_BYTES = 6.3;

/** Removed readings, one a minute of each stream, that a buffer of this size recognises if the gateway sends them again. */
export function recognisedReadings(totalBytes: number): number {
  return Math.floor((totalBytes * FORGOTTEN_SHARE) / FORGOTTEN_READING_BYTES);
}

export function shareBuffer(totalBytes: number): BufferLimits {
  const ballastBytes = clamp(totalBytes / 32, MIB / 4, 8 * MIB);
  const walBytes = clamp(totalBytes / 8, MIB, 64 * MIB);
  const shmBytes = MIB / 16;
  const fileBytes = totalBytes - ballastBytes - walBytes - shmBytes;
  return {
    totalBytes,
    fileBytesMax: fileBytes,
    ballastBytes: Math.floor(ballastBytes),
    walBytes,
    heldLogBytes: clamp(totalBytes / 16, 4 * MIB, 64 * MIB),
    // The ballast must hold it and the transaction after it: on a full disk the checkpoint comes before everything
    // else.
    checkpointBytes: ballastBytes / 2,
    forgottenBytes: Math.floor(totalBytes * FORGOTTEN_SHARE),
    freeingBytes: Math.floor(totalBytes / 128),
    hoursBytes: Math.floor(totalBytes / 4),
    commandsMax: Math.floor(totalBytes / 20 / 1500),
  };
}
