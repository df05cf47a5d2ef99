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
  /** Rows of `forgotten`: a tenth of the buffer at 24 bytes each. */
  readonly forgottenMax: number;
  /** Commands kept: a twentieth of the buffer at 1500 bytes each. */
  readonly commandsMax: number;
}

const clamp = (value: number, min: number, max: number) => Math.min(max, Math.max(min, value));

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
    forgottenMax: Math.floor(totalBytes / 10 / 24),
    commandsMax: Math.floor(totalBytes / 20 / 1500),
  };
}
