import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./mosquitto.ts";
import { OTHER_PAUSE_MS, waitUntil } from "./wait-until.ts";

// The wrapper in /usr/sbin would become another user, who cannot use a temporary directory of ours.
const PROGRAM = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const CONTROL = "/usr/lib/rabbitmq/bin/rabbitmqctl";

/** What to give node:test as `skip`: false where RabbitMQ is there. */
export const skipWithoutRabbitmq: string | false = existsSync(PROGRAM)
  ? false
  : "RabbitMQ is not installed";

export interface Rabbitmq {
  readonly amqpUrl: string;
  readonly mqttUrl: string;
  /** Leader of the node's group of processes; undefined while it is down. */
  readonly pid: number | undefined;
  /**
   * Resolves once the node has written that this quorum queue is there. RabbitMQ 3.10 keeps that back for up to three seconds; a node
   * that is killed meanwhile finds the queue without its log, and without a leader for ever.
   */
  hasWritten(queue: string): Promise<void>;
  /** A directory for PATH, whose `rabbitmqctl` speaks to this node. */
  readonly tools: string;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on its ports, with what it had written. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** How long a node may take to start, ms. */
const START_MS = 90_000;
/** How long it may take to write what queues there are, ms. */
const WRITE_MS = 30_000;

/** A node's own files instead of those that let guests in from this machine. */
export interface NodeFiles {
  /** `rabbitmq.conf`. */
  config(ports: Ports, name: string): string;
  /** `enabled_plugins`. */
  readonly plugins: string;
}

/** One real node with the MQTT plug-in on loopback ports. */
export async function openRabbitmq(files?: NodeFiles): Promise<Rabbitmq> {
  const [node] = await openRabbitmqCluster(1, files);
  if (node === undefined) throw new Error("no node");
  return node;
}

interface Ports {
  readonly amqp: number;
  readonly mqtt: number;
  readonly dist: number;
}

/** Guests may come from this machine. */
const GUESTS: NodeFiles = {
  config: ({ amqp, mqtt }) =>
    [
      `listeners.tcp.1 = 127.0.0.1:${amqp}`,
      `mqtt.listeners.tcp.1 = 127.0.0.1:${mqtt}`,
      "mqtt.allow_anonymous = true",
    ].join("\n"),
  plugins: "[rabbitmq_mqtt].\n",
};

/**
 * Nodes of one cluster, all started. They find each other by a list of names. The first start is one node after the other: the MQTT plug-in of
 * RabbitMQ 3.10 keeps client ids in its own Raft group (`mqtt_node`), whose members are found as they come. Nodes that start together wait
 * for each other for 100 s, and one may stay outside the group: it then refuses every client ("client ID registration timed out", CONNACK 3).
 */
export async function openRabbitmqCluster(
  size: number,
  files = GUESTS,
  whileAlone: (first: Rabbitmq) => Promise<void> = () => Promise.resolve(),
): Promise<readonly Rabbitmq[]> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-rabbitmq-"));
  // Nodes of one cluster know each other by it.
  writeFileSync(join(directory, ".erlang.cookie"), randomBytes(16).toString("hex"), {
    mode: 0o400,
  });
  const ports: Ports[] = [];
  for (let i = 0; i < size; i++)
    ports.push({ amqp: await freePort(), mqtt: await freePort(), dist: await freePort() });
  let open = size;
  const closed = () => {
    open -= 1;
    if (open === 0)
      rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  const nodes = ports.map((own) => createNode(directory, own, ports, files, closed));
  try {
    for (const node of nodes) {
      await node.start();
      if (node === nodes[0]) await whileAlone(node);
    }
  } catch (error) {
    await Promise.all(nodes.map((node) => node.close()));
    throw error;
  }
  return nodes;
}

const nameOf = ({ amqp }: Ports) => `gateside${amqp}@localhost`;

function createNode(
  home: string,
  own: Ports,
  cluster: readonly Ports[],
  files: NodeFiles,
  closed: () => void,
): Rabbitmq {
  const directory = join(home, String(own.amqp));
  mkdirSync(directory);
  const peers = cluster.map(
    (ports, at) => `cluster_formation.classic_config.nodes.${at + 1} = ${nameOf(ports)}`,
  );
  writeFileSync(
    join(directory, "rabbitmq.conf"),
    [
      files.config(own, nameOf(own)),
      "log.console = false",
      "disk_free_limit.absolute = 50MB",
      ...(cluster.length === 1
        ? []
        : ["cluster_formation.peer_discovery_backend = classic_config", ...peers]),
      "",
    ].join("\n"),
  );
  writeFileSync(join(directory, "plugins"), files.plugins);
  writeFileSync(join(directory, "advanced.config"), "[].\n");
  const tools = join(directory, "tools");
  mkdirSync(tools);
  writeFileSync(
    join(tools, "rabbitmqctl"),
    `#!/bin/sh\nHOME=${home} exec ${CONTROL} -n ${nameOf(own)} "$@"\n`,
    { mode: 0o755 },
  );
  let child: ChildProcess | null = null;
  const start = async () => {
    const started = spawn(PROGRAM, [], {
      cwd: directory,
      // A group of its own: the script's Erlang machine is ended with it.
      detached: true,
      stdio: "ignore",
      env: {
        PATH: process.env["PATH"],
        HOME: home,
        LC_ALL: "C.UTF-8",
        RABBITMQ_NODENAME: nameOf(own),
        RABBITMQ_DIST_PORT: String(own.dist),
        RABBITMQ_CONFIG_FILE: join(directory, "rabbitmq.conf"),
        RABBITMQ_ADVANCED_CONFIG_FILE: join(directory, "advanced.config"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, "plugins"),
        RABBITMQ_MNESIA_BASE: join(directory, "mnesia"),
        RABBITMQ_LOG_BASE: join(directory, "log"),
        // All of them take a good second more at a first start.
        RABBITMQ_FEATURE_FLAGS: "quorum_queue",
        RABBITMQ_PID_FILE: join(directory, "pid"),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
          "+S 1:1 +SDcpu 1:1 +SDio 1 +sbwt none +sbwtdcpu none +sbwtdio none",
      },
    });
    child = started;
    let hasEnded = false;
    started.once("exit", () => {
      hasEnded = true;
    });
    const isUp = async () => {
      if (hasEnded) throw new Error(`RabbitMQ has ended; its log is in ${directory}/log`);
      return (await accepts(own.amqp)) && (await accepts(own.mqtt));
    };
    await waitUntil("RabbitMQ accepts connections", isUp, START_MS, OTHER_PAUSE_MS);
  };
  const kill = async () => {
    const ending = child;
    child = null;
    if (ending?.pid === undefined || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    process.kill(-ending.pid, "SIGKILL");
    await ended;
  };
  return {
    amqpUrl: `amqp://guest:guest@127.0.0.1:${own.amqp}`,
    mqttUrl: `mqtt://127.0.0.1:${own.mqtt}`,
    get pid() {
      return child?.pid;
    },
    tools,
    start,
    async hasWritten(queue) {
      const name = nameOf(own);
      const file = join(directory, "mnesia", name, "quorum", name, "names.dets");
      const isWritten = () => existsSync(file) && readFileSync(file).includes(queue);
      await waitUntil(`RabbitMQ writes down ${queue}`, isWritten, WRITE_MS, OTHER_PAUSE_MS);
    },
    kill,
    async close() {
      await kill();
      closed();
    },
  };
}

function accepts(port: number): Promise<boolean> {
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
