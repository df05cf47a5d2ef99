import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

interface NativeNotify {
  /** 0 or an errno. */
  send(path: string, text: string): number;
}

export interface SystemdNotifier {
  /** Start-up is complete: queue open, loops running. */
  ready(status: string): void;
  /** A reload begins; `ready` ends it. */
  reloading(): void;
  stopping(): void;
  /** Feeds the watchdog; call it only while everything works. */
  alive(): void;
  /**
   * Long work that blocks everything else makes progress: neither start-up limit nor watchdog may end it within the
   * next minutes.
   */
  working(): void;
  /** How often `alive` is due, ms; null when the unit has no watchdog. */
  readonly aliveEveryMs: number | null;
}

const NONE: SystemdNotifier = {
  ready() {},
  reloading() {},
  stopping() {},
  alive() {},
  working() {},
  aliveEveryMs: null,
};

/** Far longer than one step of such work takes on the slowest disk. */
const WORKING_US = 300_000_000;

/**
 * Sends sd_notify messages if systemd asked for them (NOTIFY_SOCKET), otherwise does nothing. The small native module
 * is used if it was built; otherwise `systemd-notify`, which needs NotifyAccess=all.
 * @param nativePath path of sdnotify.node
 */
export function createSystemdNotifier(
  env: { readonly [name: string]: string | undefined },
  nativePath: string,
  pid = process.pid,
): SystemdNotifier {
  const socket = env["NOTIFY_SOCKET"];
  if (!socket) return NONE;
  const send = existsSync(nativePath) ? nativeSender(nativePath, socket) : commandSender;
  const isOurWatchdog = !env["WATCHDOG_PID"] || Number(env["WATCHDOG_PID"]) === pid;
  const watchdogUs = Number(env["WATCHDOG_USEC"]);
  return {
    ready: (status) => send(`READY=1\nSTATUS=${status}`),
    // Type=notify-reload requires the time; older managers ignore it.
    reloading: () => send(`RELOADING=1\nMONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`),
    stopping: () => send("STOPPING=1"),
    alive: () => send("WATCHDOG=1"),
    working: () => send(`EXTEND_TIMEOUT_USEC=${WORKING_US}\nWATCHDOG=1`),
    aliveEveryMs: isOurWatchdog && watchdogUs > 0 ? Math.floor(watchdogUs / 2000) : null,
  };
}

function nativeSender(nativePath: string, socket: string): (text: string) => void {
  // The bundle is CommonJS and the sources are modules: our own require serves both.
  const native: NativeNotify = createRequire(nativePath)(nativePath);
  return (text) => {
    native.send(socket, text); // A slow manager loses a ping; the next one follows.
  };
}

function commandSender(text: string): void {
  execFile("systemd-notify", text.split("\n"), { timeout: 5_000 }, () => {});
}
