/** A gateway with a plant behind it, for commissioning, training and tests. */

import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PolledKind } from "../core/sensor.ts";
import type { Site } from "../core/site.ts";
import { DAY_MS, HOUR_MS } from "../core/time-units.ts";
import { boundAddress } from "../lib/bound-address.ts";
import { handleControl } from "./control.ts";
import { DayResponses, type TruthRecord } from "./day-response.ts";
import { type ActiveFault, FaultBook } from "./faults.ts";
import { type SimulatorConfig, type SimulatorOptions, withDefaults } from "./options.ts";
import { NOT_FOUND_PAGE } from "./pages.ts";
import { createPlant, type Plant, plantSite } from "./plant.ts";
import { BadRequest } from "./request.ts";
import { SensorHistory } from "./sensor-history.ts";
import { ServedLog } from "./served.ts";
import { type CallNote, expectationOf, Service } from "./service.ts";
import { SettingsBox, type SettingsState } from "./settings.ts";
import { SimulatedClock } from "./simulated-clock.ts";
import type { ShownRecord, Simulator } from "./simulator.ts";
import { TimeZone } from "./time-zone.ts";

const KEEP_ALIVE_MS = 120_000;
const SERVER_NAME = "Microsoft-HTTPAPI/2.0";

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const gateway = new Gateway(withDefaults(options));
  await gateway.listen();
  return gateway;
}

class Gateway implements Simulator {
  readonly plant: Plant;
  readonly faults: FaultBook;
  readonly clock: SimulatedClock;
  readonly zone: TimeZone;
  readonly #config: SimulatorConfig;
  readonly #history: SensorHistory;
  readonly #answers: DayResponses;
  readonly #served = new ServedLog();
  readonly #settings: SettingsBox;
  readonly #service: Service;
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();
  readonly #clockBefore = new Map<number, number>();
  #server: Server | null = null;
  #port: number;

  constructor(config: SimulatorConfig) {
    this.#config = config;
    // One for each active fault and each delayed response; they are removed with them.
    setMaxListeners(0, this.#closing.signal);
    this.#port = config.port;
    this.zone = new TimeZone(config.zone);
    this.clock = new SimulatedClock(config.clock, {
      speed: config.speed,
      startMs: config.startMs,
      offsetMs: config.clockOffsetMs,
    });
    this.plant = createPlant(config);
    const cadence = (kind: PolledKind) => config.cadenceS[kind] * 1000;
    this.#history = new SensorHistory(this.clock, this.zone, {
      cadenceMs: {
        accel: cadence("accel"),
        current: cadence("current"),
        currentV2: cadence("currentV2"),
        accCurrent: cadence("accCurrent"),
        loop: cadence("loop"),
        dryContact: cadence("dryContact"),
        rpm: cadence("rpm"),
      },
      historyMs: config.historyDays * DAY_MS,
      machinesAheadMs: config.machinesAheadMs,
      waveform: config.waveform,
      wiring: config.wiring,
      dayRule: config.dayRule,
      cacheBytesMax: config.cacheMb * 1_048_576,
    });
    const trueNow = () => this.clock.trueNow();
    this.faults = new FaultBook(config.seed, trueNow, (fault, isOn) => this.#onFault(fault, isOn));
    const { plant, clock, faults, zone } = this;
    this.#answers = new DayResponses(plant, this.#history, zone, clock, faults);
    this.#settings = new SettingsBox(config.settings, trueNow, (code, afterMs) => {
      const sensor = plant.byCode.get(code);
      return sensor ? this.#history.nextContactMs(sensor, afterMs) : Number.POSITIVE_INFINITY;
    });
    const answers = this.#answers;
    const [settings, served] = [this.#settings, this.#served];
    this.#service = new Service({ config, clock, answers, settings, faults, served });
  }

  get port(): number {
    return this.#port;
  }
  get url(): string {
    const host = this.#config.host.includes(":") ? `[${this.#config.host}]` : this.#config.host;
    return `http://${host}:${this.#port}`;
  }
  get calls(): readonly CallNote[] {
    return this.#service.calls;
  }

  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      this.#handle(request, response).catch((error: Error) => response.destroy(error));
    });
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.#port, this.#config.host, resolve);
    });
    this.#port = boundAddress(server).port;
    this.#server = server;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const leave = () => gone.abort();
    request.socket.once("close", leave);
    response.once("close", () => request.socket.off("close", leave));
    response.on("error", leave);
    const signal = AbortSignal.any([gone.signal, this.#closing.signal]);
    response.sendDate = false;
    response.setHeader("Date", new Date(this.clock.now()).toUTCString());
    response.setHeader("Server", SERVER_NAME);
    const url = new URL(request.url ?? "/", "http://simulator");
    if (url.pathname.startsWith("/sim/")) return this.#control(url, request, response);
    const base = `/${this.#config.servicePath}/`;
    const path = decodeURIComponent(url.pathname);
    if (!path.startsWith(base)) return this.#service.html(response, 404, NOT_FOUND_PAGE);
    await this.#service.handle(path.slice(base.length), request, response, signal);
  }

  async #control(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const from = request.socket.remoteAddress ?? "";
      if (!/^(::ffff:)?127\.|^::1$/.test(from)) throw new BadRequest(403, "from this machine only");
      await handleControl(this, url, request, response);
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      response.statusCode = error.status;
      response.end(`${error.message}\n`);
    }
  }

  #onFault(fault: ActiveFault, isOn: boolean): void {
    const { name, ms, forMs } = fault.spec;
    if (name === "refused" && isOn) this.#refuse(forMs ?? 5000);
    if (name === "clock-jump") {
      if (isOn) this.#clockBefore.set(fault.id, this.clock.offsetMs);
      const before = this.#clockBefore.get(fault.id) ?? 0;
      this.clock.setOffset(isOn ? before + (ms ?? HOUR_MS) : before);
    }
    if (isOn && (forMs !== undefined || name === "refused")) {
      const end = this.#config.clock.sleep(forMs ?? 5000, this.#closing.signal);
      void end.then(() => this.faults.remove(fault.id));
    }
  }

  /** The port is closed for a while, as when the gateway restarts. */
  #refuse(forMs: number): void {
    const server = this.#server;
    if (!server) return;
    this.#server = null;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    // Whoever requested this over HTTP gets the response first.
    setImmediate(() => setTimeout(() => this.#dropConnections(), 50));
    const reopen = async () => {
      await this.#config.clock.sleep(forMs, this.#closing.signal);
      await closed;
      if (!this.#closing.signal.aborted) await this.listen();
    };
    void reopen();
  }

  #dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  truth(code: string, kind: PolledKind, fromMs: number, toMs: number): TruthRecord[] {
    const sensor = this.plant.byCode.get(code);
    return sensor?.kinds.includes(kind) ? [...this.#answers.truth(sensor, kind, fromMs, toMs)] : [];
  }

  *served(): Generator<ShownRecord> {
    for (const shown of this.#served.list()) {
      const sensor = this.#answers.sensorOf(shown.sensor.trim().replace(/^0+(?=\d)/, ""));
      if (!sensor) continue;
      const ref = this.#history.ref(sensor, shown.kind, shown.n);
      const item = { ref, steps: shown.steps };
      const answers = this.#answers;
      yield {
        ...shown,
        timeMs: ref.trueMs + this.clock.offsetAt(ref.trueMs),
        expect: expectationOf(item, shown.kind),
        // Computed on request: a campaign of hours requests each once.
        get record() {
          return answers.record(sensor, shown.kind, item);
        },
      };
    }
  }

  settings(code: string): SettingsState {
    return this.#settings.state(code);
  }

  siteFile(site?: string): Site {
    return plantSite(this.plant, site);
  }

  status(): object {
    return {
      url: this.url,
      zone: this.zone.name,
      gatewayTime: new Date(this.clock.now()).toISOString(),
      clockOffsetMs: this.clock.offsetMs,
      sensors: this.plant.sensors.length,
      calls: this.#service.calls.length,
      inWorkMax: this.#service.inWorkMax,
      servedLogOverflown: this.#served.isOverflown,
      settings: Object.fromEntries(
        this.#settings.codes().map((code) => [code, this.settings(code)]),
      ),
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const server = this.#server;
    this.#server = null;
    const closed = server && new Promise<void>((resolve) => server.close(() => resolve()));
    this.#dropConnections();
    await closed;
  }
}
