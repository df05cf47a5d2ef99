import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { type Certificates, createCertificates } from "./certificates.ts";
import { DeadlineError, deadlineMs } from "./deadline.ts";
import { waitUntil } from "./wait-until.ts";

const MOSQUITTO = ["/usr/sbin/mosquitto", "/usr/bin/mosquitto"].find((path) => existsSync(path));

function isMosquittoInstalled(): boolean {
  return MOSQUITTO !== undefined;
}

/** What to give node:test as `skip`: false where mosquitto is there, else the reason. */
export const skipWithoutMosquitto: string | false = isMosquittoInstalled()
  ? false
  : "mosquitto is not installed";

export interface MosquittoOptions {
  /** Fixed port; any free one unless given. */
  readonly port?: number;
  /** User name → password. Anonymous clients are refused where given. */
  readonly passwords?: Readonly<Record<string, string>>;
  /** Lines of an ACL file, e.g. `topic readwrite #`. */
  readonly acl?: string;
  /** Serve TLS with a self-made CA; with `requireClientCert`, clients must show one of that CA. */
  readonly tls?: { readonly requireClientCert?: boolean };
  /** Listener speaks MQTT over web sockets. */
  readonly websockets?: boolean;
  /** Keeps retained messages and sessions over restart and kill (autosave after each change). */
  readonly persistence?: boolean;
  /** Largest packet, bytes; announced to MQTT 5 clients. */
  readonly maxPacketSize?: number;
  /** Receive maximum announced to MQTT 5 clients (mosquitto's own default is 20). */
  readonly receiveMaximum?: number;
  /** Further lines of mosquitto.conf. */
  readonly config?: readonly string[];
}

/** A real broker on a loopback port, which it keeps over kill and restart. */
export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  readonly host: "127.0.0.1";
  /** Paths of ca, server and client files; null without `tls`. */
  readonly certificates: Certificates | null;
  /** Process id while it runs. */
  readonly pid: number | undefined;
  /** SIGTERM; resolves when the process has ended. `restart` starts it again. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP / SIGCONT: the socket stays open and nobody answers (a half-open link). */
  freeze(): void;
  thaw(): void;
  /** Starts it again on the same port; ends it first where it runs. */
  restart(): Promise<void>;
  /** Replaces the ACL file or passwords and makes the broker read them (SIGHUP). */
  reload(changes: { acl?: string; passwords?: Readonly<Record<string, string>> }): void;
  /** Ends it and removes its directory. */
  close(): Promise<void>;
}

/** Below those that Linux gives to connections and to port 0: whoever keeps one of these over a restart meets none of the other tests' sockets. */
const FREE_PORTS = { least: 18_000, most: 32_000 };

const givenPorts = new Set<number>();

/** A port nobody listens on now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FREE_PORTS.least, FREE_PORTS.most);
    if (givenPorts.has(port) || !(await isFree(port))) continue;
    givenPorts.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

export async function startMosquitto(options: MosquittoOptions = {}): Promise<Mosquitto> {
  const program = MOSQUITTO;
  if (program === undefined) throw new Error("mosquitto is not installed");
  const directory = mkdtempSync(join(tmpdir(), "gateside-mosquitto-"));
  const port = options.port ?? (await freePort());
  const certificates = options.tls ? createCertificates(directory) : null;
  const aclFile = join(directory, "acl");
  const passwordFile = join(directory, "passwords");
  const configFile = join(directory, "mosquitto.conf");

  const writePasswords = (passwords: Readonly<Record<string, string>>) => {
    writeFileSync(
      passwordFile,
      Object.entries(passwords)
        .map(([user, password]) => `${user}:${password}\n`)
        .join(""),
      { mode: 0o600 },
    );
    execFileSync("mosquitto_passwd", ["-U", passwordFile], { stdio: "ignore" });
  };
  const lines = [
    // Debian's libwebsockets takes an interface where MQTT takes an address.
    `listener ${port}${options.websockets ? "" : " 127.0.0.1"}`,
    `allow_anonymous ${options.passwords ? "false" : "true"}`,
    "log_dest stderr",
    "log_type error",
    "log_type warning",
    "log_type notice",
    "set_tcp_nodelay true",
    // Room for a slow subscriber; 0 (no limit) makes 2.0.11 close a session after a denied publish.
    "max_queued_messages 1000000",
  ];
  // Root would be dropped to a user who cannot read the temporary directory.
  if (process.getuid?.() === 0) lines.push("user root");
  if (options.websockets) lines.push("protocol websockets");
  if (options.maxPacketSize !== undefined) lines.push(`max_packet_size ${options.maxPacketSize}`);
  if (options.receiveMaximum !== undefined) {
    lines.push(`max_inflight_messages ${options.receiveMaximum}`);
  }
  if (options.persistence) {
    lines.push(
      "persistence true",
      `persistence_location ${directory}/`,
      "autosave_on_changes true",
      "autosave_interval 1",
    );
  } else lines.push("persistence false");
  if (options.passwords) {
    writePasswords(options.passwords);
    lines.push(`password_file ${passwordFile}`);
  }
  if (options.acl !== undefined) {
    writeFileSync(aclFile, `${options.acl}\n`, { mode: 0o600 });
    lines.push(`acl_file ${aclFile}`);
  }
  if (certificates) {
    lines.push(
      `cafile ${certificates.caFile}`,
      `certfile ${certificates.serverCertFile}`,
      `keyfile ${certificates.serverKeyFile}`,
      `require_certificate ${options.tls?.requireClientCert === true}`,
    );
  }
  // 2.0.11 does not start with a web socket listener alone.
  if (options.websockets) lines.push(`listener ${await freePort()} 127.0.0.1`);
  writeFileSync(configFile, `${[...lines, ...(options.config ?? [])].join("\n")}\n`);

  let child: ReturnType<typeof spawn> | null = null;
  const start = async () => {
    const started = spawn(program, ["-c", configFile], { stdio: ["ignore", "ignore", "pipe"] });
    child = started;
    let log = "";
    started.stderr?.on("data", (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4000);
    });
    started.once("exit", () => {
      if (child === started) child = null;
    });
    const isUp = async () => {
      if (child !== started) throw new Error(`mosquitto did not start:\n${log}`);
      return canConnect(port);
    };
    await waitUntil(() => `mosquitto accepts connections on ${port}:\n${log}`, isUp, 10_000);
  };
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    const ending = child;
    if (!ending) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill("SIGCONT");
    ending.kill(signal);
    await ended;
  };
  await start();

  const scheme = `${options.websockets ? "ws" : "mqtt"}${certificates ? "s" : ""}`;
  return {
    port,
    host: "127.0.0.1",
    url: `${scheme}://127.0.0.1:${port}`,
    certificates,
    get pid() {
      return child?.pid;
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    async restart() {
      await end("SIGTERM");
      await start();
    },
    reload(changes) {
      if (changes.acl !== undefined) writeFileSync(aclFile, `${changes.acl}\n`);
      if (changes.passwords) writePasswords(changes.passwords);
      child?.kill("SIGHUP");
    },
    async close() {
      await end("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, "127.0.0.1");
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

/** One message as a subscriber saw it. */
export interface SeenMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly text: string;
  readonly qos: 0 | 1 | 2;
  /** As published, also for live messages (retain-as-published). */
  readonly retain: boolean;
  readonly contentType: string | undefined;
  readonly userProperties: Readonly<Record<string, string | string[]>>;
  readonly correlationData: Buffer | undefined;
  /** ms of Date.now() at arrival. */
  readonly at: number;
}

export interface RecordingSubscriber {
  readonly messages: SeenMessage[];
  /** The first message, seen before or yet to come, that passes; rejects after `timeoutMs`. */
  waitFor(test: (message: SeenMessage) => boolean, timeoutMs?: number): Promise<SeenMessage>;
  /** Resolves when `test` holds over all messages so far; tried after each that comes, and once for those that come together. */
  waitUntil(test: (messages: SeenMessage[]) => boolean, timeoutMs?: number): Promise<void>;
  onTopic(topic: string): SeenMessage[];
  /** QoS 1; resolves once the broker has it. */
  publish(
    topic: string,
    payload: string,
    properties?: { readonly responseTopic?: string; readonly correlationData?: Buffer },
  ): Promise<void>;
  clear(): void;
  close(): Promise<void>;
}

export interface SubscriberOptions {
  readonly topics?: readonly string[];
  readonly username?: string;
  readonly password?: string;
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** Keep trying to reconnect, e.g. over a broker restart. */
  readonly reconnect?: boolean;
}

/** An MQTT 5 client that subscribes (`#` by default) and keeps whatever it sees; ready once the broker has granted. */
export async function recordMessages(
  url: string,
  options: SubscriberOptions = {},
): Promise<RecordingSubscriber> {
  const { topics = ["#"], reconnect = false, ...credentials } = options;
  const messages: SeenMessage[] = [];
  const waiting = new Set<(added: readonly SeenMessage[]) => void>();
  let added: SeenMessage[] = [];
  const look = () => {
    const latest = added;
    added = [];
    for (const attempt of waiting) attempt(latest);
  };
  const client = mqtt.connect(url, {
    protocolVersion: 5,
    reconnectPeriod: reconnect ? 50 : 0,
    resubscribe: false,
    // Room for a drain at full speed: the broker would otherwise wait for our acknowledgements.
    properties: { receiveMaximum: 65535 },
    ...credentials,
  });
  client.on("message", (topic, payload, packet) => {
    const message = {
      topic,
      payload,
      text: payload.toString(),
      qos: packet.qos,
      retain: packet.retain,
      contentType: packet.properties?.contentType,
      userProperties: { ...packet.properties?.userProperties },
      correlationData: packet.properties?.correlationData,
      at: Date.now(),
    };
    messages.push(message);
    // Looking through thousands of messages after each of thousands would keep a core busy.
    if (added.push(message) === 1) setImmediate(look);
  });
  await new Promise<void>((resolve, reject) => {
    let isReady = false;
    client.on("error", (err) => {
      if (!isReady) reject(err);
    });
    client.on("connect", () => {
      client
        .subscribeAsync([...topics], { qos: 1, rap: true })
        .then(() => {
          isReady = true;
          resolve();
        })
        .catch((err: unknown) => {
          if (!isReady) reject(err instanceof Error ? err : new Error(String(err)));
        });
    });
  });

  const wait = <T>(
    look: (latest: readonly SeenMessage[]) => T | undefined,
    timeoutMs: number,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(attempt);
        const seen = messages.slice(-8).map((m) => `${m.topic} ${m.text.slice(0, 60)}`);
        reject(
          new DeadlineError(
            `not seen within ${timeoutMs} ms; ${messages.length} messages, the last:\n${seen.join("\n")}`,
          ),
        );
      }, deadlineMs(timeoutMs));
      const attempt = (latest: readonly SeenMessage[]) => {
        const found = look(latest);
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(attempt);
        resolve(found);
      };
      waiting.add(attempt);
      attempt(messages);
    });

  return {
    messages,
    waitFor: (test, timeoutMs = 5000) => wait((latest) => latest.find(test), timeoutMs),
    async waitUntil(test, timeoutMs = 5000) {
      await wait(() => (test(messages) ? true : undefined), timeoutMs);
    },
    onTopic: (topic) => messages.filter((m) => m.topic === topic),
    async publish(topic, payload, properties = {}) {
      await client.publishAsync(topic, payload, { qos: 1, properties });
    },
    clear: () => {
      messages.length = 0;
      added = [];
    },
    close: () => client.endAsync(true),
  };
}
