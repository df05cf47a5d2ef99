/** The agent as a process of the virtual world: started as `gateside run` starts it, killed at any point, started again from what the disk has. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../../src/agent/agent.ts";
import type { AgentOptions } from "../../src/agent/agent-options.ts";
import type { Flags } from "../../src/cli/command.ts";
import type { examineConfiguration, requireConfiguration } from "../../src/cli/configuration.ts";
import type { createConfigurationFiles, settingsShown } from "../../src/cli/configuration-files.ts";
import type { recoverTrial } from "../../src/cli/recover-trial.ts";
import type { loadSettings } from "../../src/config/settings.ts";
import type { AgentStatus } from "../../src/core/agent-status.ts";
import type { Logger } from "../../src/core/ports.ts";
import type { FeatureSpec } from "../../src/features/feature.ts";
import type { openReadOnly, ReadOnlyStore } from "../../src/pipeline/store/read-only-store.ts";
import type { Identities } from "../../src/pipeline/store/readings/identities.ts";
import { mix } from "../../src/simulator/random.ts";
import { Disk } from "./disk.ts";
import type { Journal } from "./journal.ts";
import type { Network } from "./network.ts";
import type { Program } from "./program.ts";
import { Died, VirtualProcess } from "./virtual-process.ts";

interface AgentProgram {
  openAgent(options: AgentOptions): Promise<Agent>;
  readonly examineConfiguration: typeof examineConfiguration;
  readonly requireConfiguration: typeof requireConfiguration;
  readonly createConfigurationFiles: typeof createConfigurationFiles;
  readonly settingsShown: typeof settingsShown;
  readonly loadSettings: typeof loadSettings;
  readonly recoverTrial: typeof recoverTrial;
  readonly Flags: typeof Flags;
  readonly openReadOnly: typeof openReadOnly;
  readonly SPECS: readonly FeatureSpec[];
  readonly Identities: typeof Identities;
}

/** What a running agent holds in memory. */
export interface Inside {
  readonly identitiesBytes: number | null;
  readonly status: AgentStatus;
}

export interface LogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly text: string;
}

export interface LifeOptions {
  readonly program: Program;
  readonly seed: number;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly startMs: number;
  readonly journal: Journal;
  readonly onLine: (line: LogLine) => void;
  /** It ended although nobody stopped or killed it. */
  readonly onFailure: (what: string) => void;
}

/** What systemd waits before it starts the agent again. */
const RESTART_MS = 5000;

interface Run {
  readonly process: VirtualProcess;
  readonly stopping: AbortController;
  agent: Agent | null;
  program: AgentProgram | null;
  identities: Identities | null;
  /** A SIGHUP came while it was being opened. */
  isReloadWanted: boolean;
  readonly ended: Promise<void>;
}

export class AgentLife {
  /** Of the box, ms: its clock is wrong by this. */
  boxOffsetMs = 0;
  starts = 0;
  readonly #network: Network;
  readonly #options: LifeOptions;
  #run: Run | null = null;
  #wantsToRun = false;
  #dataDir: string;

  constructor(network: Network, options: LifeOptions) {
    this.#network = network;
    this.#options = options;
    this.#dataDir = join(options.directory, "data-0");
    mkdirSync(this.#dataDir);
  }

  get dataDir(): string {
    return this.#dataDir;
  }
  /** By its clock. Linux refuses times before 1970. */
  get boxNowMs(): number {
    return Math.max(this.#options.startMs + this.boxOffsetMs + this.#network.world.nowMs, 0);
  }
  get isRunning(): boolean {
    return (this.#run?.agent ?? null) !== null;
  }
  get disk(): Disk | null {
    return this.#run?.process.disk ?? null;
  }

  /** The store as a second process reads it; null if the agent does not run. */
  inspect(): ReadOnlyStore | null {
    const program = this.#run?.program ?? null;
    if (!this.isRunning || program === null) return null;
    const [count] = program.SPECS.flatMap((spec) => spec.count ?? []);
    return program.openReadOnly(this.#dataDir, undefined, count?.read);
  }

  /** Null if the agent does not run. */
  inside(): Inside | null {
    const agent = this.#run?.agent ?? null;
    if (agent === null) return null;
    const identitiesBytes = this.#run?.identities?.bytes ?? null;
    return { status: agent.status(), identitiesBytes };
  }

  /** What its metrics count as lost by an uplink since this start. */
  async lostBy(uplink: string): Promise<number> {
    const { values } = (await this.#run?.agent?.metrics.uplinkDropped.get()) ?? { values: [] };
    const ofUplink = values.filter(({ labels }) => labels["uplink"] === uplink);
    return ofUplink.reduce((sum, { value }) => sum + value, 0);
  }

  start(): void {
    this.#wantsToRun = true;
    if (this.#run !== null) return;
    const { seed } = this.#options;
    this.starts += 1;
    const process = new VirtualProcess(this.#network, {
      name: "agent",
      seed: mix(seed, this.starts),
      startMs: () => this.boxNowMs - this.#network.world.nowMs,
      disk: new Disk(),
      onError: (error) => this.#fail(process, error),
    });
    const stopping = new AbortController();
    const run: Run = {
      process,
      stopping,
      agent: null,
      program: null,
      identities: null,
      isReloadWanted: false,
      ended: Promise.resolve(),
    };
    this.#run = run;
    Object.assign(run, {
      ended: this.#live(run).catch((error: unknown) => this.#fail(process, error)),
    });
  }

  async #live(run: Run): Promise<void> {
    const { process, stopping } = run;
    const { program, env, directory, journal } = this.#options;
    const loaded = process.load<AgentProgram>(program);
    run.program = loaded;
    watchLoading(loaded, (identities) => {
      run.identities = identities;
    });
    const stderr = {
      write: (text: string | Uint8Array) => (journal.tell("stderr", String(text)), true),
    };
    const flags = new loaded.Flags(new Map());
    const context = { env: { ...env, DATA_DIR: this.#dataDir }, cwd: directory, flags, stderr };
    const early = loaded.loadSettings(context.env, { cwd: directory, envFile: null });
    const recovered =
      early.settings === null ? null : await loaded.recoverTrial(early.settings, stderr);
    const report = loaded.examineConfiguration(context);
    const { settings, site, uplinks } = loaded.requireConfiguration(report, context);
    // Paths would be different in each run.
    const shown = Object.entries(loaded.settingsShown(report.loaded)).filter(
      ([, text]) => !text.includes(directory),
    );
    run.agent = await loaded.openAgent({
      settings,
      site,
      uplinks,
      logger: this.#loggerOf(process),
      files: loaded.createConfigurationFiles(context, report.loaded),
      settingsShown: Object.fromEntries(shown),
      recovered,
      ...olderKeys(report),
    });
    if (run.isReloadWanted) this.reload();
    await run.agent.run(stopping.signal);
    if (!process.isAlive) return;
    this.#run = null;
    process.die();
    if (!stopping.signal.aborted) this.#options.onFailure("the agent ended by itself");
  }

  #loggerOf(process: VirtualProcess): Logger {
    const { journal, onLine } = this.#options;
    const write = (level: LogLine["level"]) => (fields: object, message: string) => {
      if (!process.isAlive) return;
      const text = `${level} ${message} ${JSON.stringify(fields, errorsAsText)}`;
      journal.tell("agent", text);
      onLine({ level, message, text });
    };
    return { debug() {}, info: write("info"), warn: write("warn"), error: write("error") };
  }

  #fail(process: VirtualProcess, error: unknown): void {
    if (!process.isAlive || error instanceof Died) return;
    this.#options.onFailure(
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    this.kill();
    if (this.#wantsToRun) this.#network.world.after(RESTART_MS, () => this.start());
  }

  /** Nothing of the process has an effect any more. The disk keeps what the kernel has at this moment. */
  kill(): void {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    const left = this.#dataDir;
    this.#dataDir = join(this.#options.directory, `data-${this.starts}`);
    Disk.copy(left, this.#dataDir);
    run.process.die();
    // Its connections are closed by then.
    this.#network.world.after(1, () => rmSync(left, { recursive: true, force: true }));
  }
  /** The same, from within a call of the process. */
  killWithin(): never {
    this.kill();
    throw new Died("killed");
  }

  async stop(): Promise<void> {
    this.#wantsToRun = false;
    const run = this.#run;
    run?.stopping.abort("SIGTERM");
    await run?.ended;
  }

  /** SIGHUP: as in cli/run.ts, one that comes while the agent is being opened takes effect once it is open. */
  reload(): void {
    const run = this.#run;
    if (run === null) return;
    run.isReloadWanted = run.agent === null;
    run.agent?.reload("SIGHUP").catch((err: unknown) => {
      this.#loggerOf(run.process).error({ err }, "reload failed");
    });
  }
}

/** Its store is not reachable from outside: each object of the class is told when it reads the file. */
function watchLoading(
  { Identities: loaded }: AgentProgram,
  onLoad: (identities: Identities) => void,
): void {
  const { load } = loaded.prototype;
  loaded.prototype.load = function (this: Identities) {
    load.call(this);
    onLoad(this);
  };
}

function errorsAsText(_name: string, value: unknown): unknown {
  return value instanceof Error ? `${value.name}: ${value.message}` : value;
}

/** For an agent of an earlier commit: it was handed them. */
function olderKeys(report: object): object {
  const keys = "documentKeys" in report ? report.documentKeys : [];
  return Array.isArray(keys) && keys.length > 0 ? { documentKeys: keys } : {};
}
