/** Whoever sends settings of sensors over `main`: each command, however often it is delivered, has one outcome and at most one call. */
import { PLANT_SITE } from "../chaos/events.ts";
import type { Broker } from "./broker.ts";
import type { Happening } from "./happenings.ts";
import type { World } from "./world.ts";

const TOPIC = `gateside/${PLANT_SITE}/agent/cmd/saveSettings`;
const RESULT = `${TOPIC}/result`;

export interface Answer {
  readonly topic: string;
  readonly payload: Buffer;
  readonly properties?: object;
}

export class Commands {
  readonly failures: string[] = [];
  readonly #world: World;
  readonly #broker: Broker;
  readonly #calls: (sensor: string) => number;
  /** Commands by sensor. */
  readonly #sent = new Map<string, number>();
  /** Outcomes by correlation data. */
  readonly #outcomes = new Map<string, string>();

  /** `calls`: of the gateway, that set this sensor. */
  constructor(world: World, broker: Broker, calls: (sensor: string) => number) {
    this.#world = world;
    this.#broker = broker;
    this.#calls = calls;
  }

  async send({
    sensor,
    number,
    repeats,
    everyMs,
  }: Happening & { name: "command sent" }): Promise<void> {
    const payload = { sensor, IntervalSendData: 60, Range: 8, IntervalRMS: 60 };
    const alarms = { alarm1: 1 + (number % 9), alarm2: 4.5, alarm3: 4.5 };
    const correlationData = Buffer.from(`command ${number}`);
    this.#sent.set(sensor, (this.#sent.get(sensor) ?? 0) + 1);
    for (let i = 0; i <= repeats; i++) {
      this.#broker.accept({
        topic: TOPIC,
        payload: Buffer.from(JSON.stringify({ ...payload, ...alarms })),
        qos: 1,
        retain: false,
        properties: { correlationData },
      });
      await this.#world.sleep(everyMs);
    }
  }

  /** One message of the agent. */
  take({ topic, payload, properties }: Answer): void {
    if (topic !== RESULT) return;
    const { correlationData } = (properties ?? {}) as { correlationData?: Buffer };
    const key = String(correlationData ?? "");
    const before = this.#outcomes.get(key);
    const outcome = payload.toString();
    // Over MQTT 3.1.1 an answer does not say to which command.
    if (key !== "" && before !== undefined && before !== outcome)
      this.failures.push(`${key} was answered by ${before} and by ${outcome}`);
    this.#outcomes.set(key, outcome);
  }

  /** Over MQTT 3.1.1 nothing tells a command from its repetition after a minute. */
  finish(version: string): string[] {
    const often =
      version === "4"
        ? []
        : [...this.#sent].flatMap(([sensor, count]) =>
            this.#calls(sensor) > count
              ? [`${sensor}: ${this.#calls(sensor)} calls of the gateway for ${count} commands`]
              : [],
          );
    return [...this.failures, ...often];
  }
}
