/**
 * A gateway that serves prepared days from memory, in its own process, so that its work is not part of any figure. It knows
 * which records are visible, adds one to each sensor on request, and counts requests.
 * Started by gateway-process.ts, with which it exchanges process messages.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface CannedSensor {
  readonly code: string;
  readonly kind: "rpm" | "accel";
  /** Records of the day at the start. */
  readonly records: number;
  /** Samples per channel of an `accel` record. */
  readonly samples: number;
  /** Adds a record by itself this often, s of real time; 0: only on request. */
  readonly cadenceS: number;
}

export interface CannedPlan {
  readonly sensors: readonly CannedSensor[];
  /** Midnight (UTC) of the newest day, ms. */
  readonly midnightMs: number;
  /** Days before it that are full too. */
  readonly pastDays: number;
  /** Time between the records of a prepared day, s. */
  readonly stepS: number;
  /** Gateway clock: starts this many ms after midnight, then runs; null: real time. */
  readonly clockMs: number | null;
  /** From a record's time until it is visible, ms (cadence). */
  readonly lagMs: number;
}

export type CannedOrder =
  | { readonly order: "plan"; readonly plan: CannedPlan }
  | { readonly order: "open" }
  | { readonly order: "advance" }
  | { readonly order: "cadence" }
  | { readonly order: "report"; readonly ticket: number };

export type CannedNews =
  | { readonly news: "listening"; readonly port: number }
  | { readonly news: "planned"; readonly bytes: number; readonly records: number }
  | { readonly news: "done" }
  | ({ readonly news: "report"; readonly ticket: number } & CannedReport);

export interface CannedReport {
  readonly requests: number;
  /** Responses sent completely. */
  readonly answered: number;
  readonly bytes: number;
  /** Records shown since the cadence began, with the moment they became visible (ms since 1970). */
  readonly shown: readonly {
    readonly code: string;
    readonly timeMs: number;
    readonly visibleAt: number;
  }[];
}

const HEAD = Buffer.from('[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[');
const TAIL = Buffer.from("]}]");
/** The gateway's clock advances by this much with each requested record, ms: too little to look like a clock that was set. */
const ADVANCE_MS = 240_000;
const DAY_MS = 86_400_000;
/** Different channel texts; bodies are made of them. */
const CHANNELS = 24;

class Day {
  #buffer = Buffer.alloc(4096);
  #length = 0;
  records = 0;

  add(text: string): void {
    const line = this.records === 0 ? text : `,${text}`;
    const size = Buffer.byteLength(line);
    if (this.#length + size > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(2 * this.#buffer.length, this.#length + size));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    this.#buffer.write(line, this.#length, "latin1");
    this.#length += size;
    this.records += 1;
  }
  get body(): Buffer[] {
    return [HEAD, this.#buffer.subarray(0, this.#length), TAIL];
  }
  get bytes(): number {
    return HEAD.length + this.#length + TAIL.length;
  }
}

class Gateway {
  #plan: CannedPlan | null = null;
  #isOpen = false;
  #startedAt = Date.now();
  #advanced = 0;
  #turn = 0;
  readonly #days = new Map<string, Day>();
  readonly #channels = new Map<number, string[]>();
  #requests = 0;
  #answered = 0;
  #bytes = 0;
  #shown: { code: string; timeMs: number; visibleAt: number }[] = [];

  plan(plan: CannedPlan): { bytes: number; records: number } {
    this.#plan = plan;
    this.#startedAt = Date.now();
    this.#advanced = 0;
    this.#isOpen = false;
    this.#days.clear();
    let bytes = 0;
    let records = 0;
    for (const sensor of plan.sensors) {
      for (let back = 0; back <= plan.pastDays; back++) {
        const midnightMs = plan.midnightMs - back * DAY_MS;
        const day = new Day();
        for (let n = 0; n < sensor.records; n++) {
          day.add(this.#record(sensor, midnightMs + n * plan.stepS * 1000 + 1));
        }
        this.#days.set(keyOf(sensor.code, midnightMs), day);
        bytes += day.bytes;
        records += day.records;
      }
    }
    return { bytes, records };
  }

  /** Until then every day is empty. */
  open(): void {
    this.#isOpen = true;
  }

  get #now(): number {
    const plan = this.#plan;
    if (plan === null || plan.clockMs === null) return Date.now();
    return (
      plan.midnightMs + plan.clockMs + this.#advanced * ADVANCE_MS + Date.now() - this.#startedAt
    );
  }

  advance(): void {
    const plan = this.#plan;
    if (plan === null) return;
    this.#advanced += 1;
    const timeMs = this.#now;
    for (const sensor of plan.sensors) {
      this.#days.get(keyOf(sensor.code, plan.midnightMs))?.add(this.#record(sensor, timeMs));
    }
  }

  /** From now on every sensor adds records at its own cadence. */
  beginCadence(): void {
    const plan = this.#plan;
    if (plan === null) return;
    plan.sensors.forEach((sensor, index) => {
      if (sensor.cadenceS === 0) return;
      const periodMs = sensor.cadenceS * 1000;
      // Spread out, as sensors in a plant are.
      setTimeout(
        () => {
          this.#show(plan, sensor);
          setInterval(() => this.#show(plan, sensor), periodMs);
        },
        (index * 977) % periodMs,
      );
    });
  }

  #show(plan: CannedPlan, sensor: CannedSensor): void {
    const visibleAt = Date.now();
    const timeMs = visibleAt - plan.lagMs;
    this.#days.get(keyOf(sensor.code, plan.midnightMs))?.add(this.#record(sensor, timeMs));
    this.#shown.push({ code: sensor.code, timeMs, visibleAt });
  }

  report(): CannedReport {
    const { ...report } = {
      requests: this.#requests,
      answered: this.#answered,
      bytes: this.#bytes,
      shown: this.#shown,
    };
    return report;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests += 1;
    let text = "";
    for await (const part of request) text += String(part);
    const { sensorCode, date } = JSON.parse(text) as { sensorCode: string; date: string };
    const day = this.#isOpen ? this.#days.get(keyOf(sensorCode, Date.parse(date))) : undefined;
    const parts = day?.body ?? [HEAD, TAIL];
    const size = day?.bytes ?? HEAD.length + TAIL.length;
    response.setHeader("date", new Date(this.#now).toUTCString());
    response.setHeader("content-type", "application/json");
    response.setHeader("content-length", size);
    this.#bytes += size;
    for (const part of parts) response.write(part);
    response.end(() => {
      this.#answered += 1;
    });
  }

  #record(sensor: CannedSensor, timeMs: number): string {
    const time = `"\\/Date(${Math.round(timeMs)}+0000)\\/"`;
    this.#turn += 1;
    if (sensor.kind === "rpm") {
      const rpm = 1480 + (this.#turn % 97) / 10;
      return `{"RPM":${rpm},"battery":3.58,"battery_type":2,"module_temperature":24.5,"sensor_code":"${sensor.code}","time_data":${time},"version":12}`;
    }
    const texts = this.#texts(sensor.samples);
    const channels = [1, 2, 3].map(
      (n) => `"channel${n}":${texts[(this.#turn * 7 + n) % CHANNELS]}`,
    );
    return `{"battery_type":2,"calibration":0.000488,${channels.join(",")},"device":"A","hasrealtime":true,"realnodetime":${time},"recording_reason":2,"sample_rate":6400,"sensor_code":"${sensor.code}","sensor_type":3,"sequence":${this.#turn},"temperature":31.5,"time_data":${time},"trigger":0,"trigger_type":0}`;
  }

  #texts(samples: number): string[] {
    let texts = this.#channels.get(samples);
    if (texts === undefined) {
      texts = Array.from({ length: CHANNELS }, (_, seed) => channelText(samples, seed + 1));
      this.#channels.set(samples, texts);
    }
    return texts;
  }
}

/** A rotating machine with noise, as text. */
function channelText(samples: number, seed: number): string {
  let state = seed * 2_654_435_761;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const values = Array.from({ length: samples }, (_, n) => {
    const noise = (random() + random() + random() - 1.5) * 300;
    return Math.round(400 * Math.sin((2 * Math.PI * 24.6 * n) / 6400) + noise);
  });
  return `[${values.join(",")}]`;
}

function keyOf(code: string, midnightMs: number): string {
  return `${code} ${midnightMs}`;
}

function main(): void {
  const gateway = new Gateway();
  const tell = (news: CannedNews) => process.send?.(news);
  const server = createServer((request, response) => void gateway.answer(request, response));
  server.keepAliveTimeout = 120_000;
  server.listen(0, "127.0.0.1", () => {
    tell({ news: "listening", port: (server.address() as AddressInfo).port });
  });
  process.on("message", (order: CannedOrder) => {
    if (order.order === "plan") return tell({ news: "planned", ...gateway.plan(order.plan) });
    if (order.order === "report") {
      return tell({ news: "report", ticket: order.ticket, ...gateway.report() });
    }
    if (order.order === "advance") gateway.advance();
    else if (order.order === "open") gateway.open();
    else gateway.beginCadence();
    return tell({ news: "done" });
  });
  process.on("disconnect", () => process.exit(0));
}

main();
