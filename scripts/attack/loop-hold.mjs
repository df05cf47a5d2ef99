/**
 * Loaded into the agent: writes the longest time that its event loop was blocked, ms, to LOOP_HOLD_FILE. It measures the process's CPU
 * time between two turns, not wall time, so that other programs on a busy machine do not count.
 */
import { existsSync, writeFileSync } from "node:fs";

const path = process.env.LOOP_HOLD_FILE;
const LOOK_MS = 4;
let longest = 0;
let lastCpu = process.cpuUsage();
let lastAt = performance.now();

function look() {
  const cpu = process.cpuUsage();
  const at = performance.now();
  const used = (cpu.user - lastCpu.user + cpu.system - lastCpu.system) / 1_000;
  longest = Math.max(longest, Math.min(used, at - lastAt));
  lastCpu = cpu;
  lastAt = at;
}

// Starting up loads code, so the measurement begins when the agent listens.
const waiting = setInterval(() => {
  if (!path || !existsSync(`${path}.go`)) return;
  clearInterval(waiting);
  look();
  longest = 0;
  setInterval(look, LOOK_MS).unref();
  setInterval(() => writeFileSync(path, String(longest)), 250).unref();
}, 5).unref();
