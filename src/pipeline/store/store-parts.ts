/** The parts of the store over one SQLite file, each built over those before it, without any I/O. */
import { GatewayTime } from "../../core/time/gateway-time.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { LogPace } from "../../lib/log-pace.ts";
import { copyLogPath } from "../../lib/paths.ts";
import { SqliteAuditLog } from "./audit-log.ts";
import { SqliteCommandLog } from "./command-log.ts";
import { Database } from "./database/database.ts";
import { Meta } from "./database/meta.ts";
import { Streams } from "./database/streams.ts";
import { WriteQueue } from "./database/write-queue.ts";
import { EventRows } from "./outbox/event-rows.ts";
import { SqliteGapLog } from "./outbox/gap-log.ts";
import { Lanes } from "./outbox/lanes.ts";
import { SqliteOutbox } from "./outbox/outbox.ts";
import { Pending } from "./outbox/pending.ts";
import { StartProof } from "./outbox/start-proof.ts";
import { Thinning } from "./outbox/thinning.ts";
import { History } from "./readings/history.ts";
import { Identities } from "./readings/identities.ts";
import { StoredMeasurements } from "./readings/measurements.ts";
import { NewestTimes } from "./readings/newest-times.ts";
import type { ReadingCount } from "./readings/reading-count.ts";
import { SqliteReadingLog } from "./readings/reading-log.ts";
import { StoredProgress } from "./readings/stored-progress.ts";
import { Waveforms } from "./readings/waveforms.ts";
import type { RecoveryParts } from "./recovery/open-or-recover.ts";
import { SessionTable } from "./session-table.ts";
import { shareBuffer } from "./space/buffer-limits.ts";
import { BufferMonitor } from "./space/buffer-monitor.ts";
import { DroppedCounts } from "./space/dropped-counts.ts";
import { FullBuffer } from "./space/full-buffer.ts";
import { Growth } from "./space/growth.ts";
import { LogCopier } from "./space/log-copier.ts";
import { LogWatch } from "./space/log-watch.ts";
import { Retention } from "./space/retention.ts";
import type { StoreOptions } from "./store.ts";
import type { StoreSteps } from "./store-steps.ts";

const COMMIT_WINDOW_MS = 200;
const SETTLE_WINDOW_MS = 50;
/**
 * With spaced commits, outcomes are written with the next readings: a round of polls is one commit, not two. Longer
 * than the usual round; until then a power cut repeats deliveries with the same ids, as it does with acknowledgements
 * that are still on their way.
 */
const SETTLE_WAIT_MS = 120_000;
const MIB = 1 << 20;

export type StoreParts = ReturnType<typeof createStoreParts>;

export function createStoreParts(options: StoreOptions) {
  const { clock, gatewayNow, logger } = options;
  const limits = shareBuffer(options.bufferMaxMb * MIB);
  const damageLines = new LogPace(clock);
  const db = new Database({
    dataDir: options.dataDir,
    nativeBinding: options.nativeBinding,
    steps: options.steps,
    checkpointBytes: limits.checkpointBytes,
    onDamaged(table, row) {
      const line = damageLines.next(table);
      if (line !== null)
        logger.error({ table, row, others: line.heldBack }, "a row of the store is damaged");
      options.onDamaged?.(table);
    },
  });
  const queue = new WriteQueue({
    db,
    clock,
    logger,
    onCommit: options.onCommit,
    paceMs: options.commitPaceMs ?? 0,
  });
  const meta = new Meta(db, queue);
  const streams = new Streams(db);
  const growth = new Growth();
  const newest = new NewestTimes(db);
  const progress = new StoredProgress(db);
  const identities = new Identities(db, meta, newest);
  const counts = new DroppedCounts(meta, options.onDropped, db.damaged);
  const stored: ReadingCount = { count: 0 };
  const counting = options.count?.({ db, queue, streams }) ?? null;
  const waveforms = new Waveforms(db, streams, queue, (table, fileId) => {
    db.damaged.found(table, fileId);
    counts.note("damaged_samples", 1);
  });
  const keeping =
    options.keep?.({ db, streams }, options.waveformDays * DAY_MS, limits.totalBytes) ?? null;
  const kept = keeping?.kept ?? null;
  const steps: { list: readonly StoreSteps[] } = { list: [] };
  const measurements = new StoredMeasurements({ db, streams, queue, kept, steps });
  const time = new GatewayTime({ clock, gatewayNow });
  const isClockConfirmed = options.isClockConfirmed ?? (() => true);
  const age = new GatewayTime({ clock, gatewayNow, isConfirmed: isClockConfirmed });
  const lanes = new Lanes(
    { db, queue, clock, logger, startGraceMs: options.startGraceMs },
    options.uplinks,
  );
  const pending = new Pending({
    db,
    queue,
    lanes,
    thinning: new Thinning({ db, meta, streams }),
    onNotSelected: options.onNotSelected ?? (() => {}),
  });
  const gaps = new SqliteGapLog(
    {
      db,
      streams,
      queue,
      logger,
      hasBetween: (...between) => identities.hasBetween(...between),
      onLost: options.onLost,
    },
    options.uplinks,
  );
  const outbox = new SqliteOutbox({
    db,
    streams,
    queue,
    lanes,
    pending,
    clock,
    age,
    logger,
    proof: new StartProof(clock, streams, options.liveProofMs ?? 0),
    isSparing: () => watch.isSparing,
    settleWindowMs: (options.commitPaceMs ?? 0) > 0 ? SETTLE_WAIT_MS : SETTLE_WINDOW_MS,
    gaps,
    counts,
  });
  const events = new EventRows({
    db,
    streams,
    pending,
    clock,
    age: time,
    site: options.site ?? (() => ""),
    stored: (count) => {
      stored.count += count;
    },
  });
  const monitor = new BufferMonitor({
    db,
    limits,
    growth,
    rememberedBytes: () => identities.fileBytes + (counting?.bytes ?? 0),
    diskFreeMinBytes: options.diskFreeMinMb * MIB,
    diskFreeBytes: options.diskFreeBytes,
    clock,
    logger,
  });
  const watch = new LogWatch({
    db,
    queue,
    meta,
    monitor,
    limits,
    copier: new LogCopier({ path: db.path, nativeBinding: options.nativeBinding }, copyLogPath()),
    clock,
    logger,
  });
  const full = new FullBuffer({
    db,
    lanes,
    pending,
    readings: stored,
    waveforms,
    identities,
    gaps,
    counting,
    keeping,
    meta,
    monitor,
    counts,
    clock,
    logger,
    limitBytes: limits.totalBytes,
  });
  const readings = new SqliteReadingLog(
    {
      db,
      queue,
      streams,
      identities,
      newest,
      progress,
      waveforms,
      pending,
      gaps,
      full,
      stored,
      counting,
      growth,
      steps,
      clock,
    },
    {
      commitWindowMs: options.commitWindowMs ?? COMMIT_WINDOW_MS,
      transactionBytesMax: limits.walBytes / 2,
    },
  );
  const history = new History(db, streams, newest);
  const commands = new SqliteCommandLog(db, queue);
  const audit = new SqliteAuditLog(db, queue);
  const sessions = new SessionTable(db, queue);
  const recovery: RecoveryParts = {
    nativeBinding: options.nativeBinding,
    clock,
    logger,
    onProgress: () => options.onProgress?.(),
    lanes,
    counting,
  };
  const retention = new Retention(
    {
      db,
      queue,
      lanes,
      pending,
      streams,
      readings: stored,
      waveforms,
      identities,
      gaps,
      counting,
      meta,
      monitor,
      full,
      counts,
      keeping,
      commands,
      progress,
      watch,
      clock,
      age,
      logger,
    },
    {
      historyDays: options.historyDays,
      gatewayNow: options.gatewayNow,
      isClockConfirmed,
      waveformDays: options.waveformDays,
      limits,
    },
  );
  return {
    db,
    queue,
    meta,
    streams,
    identities,
    counts,
    stored,
    counting,
    waveforms,
    keeping,
    measurements,
    lanes,
    pending,
    outbox,
    events,
    gaps,
    monitor,
    full,
    readings,
    steps,
    history,
    commands,
    audit,
    sessions,
    recovery,
    retention,
    watch,
    limits,
  };
}
