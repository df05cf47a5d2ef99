/** Makes one thing happen to the world of a seed. */
import { SeededRandom } from "../chaos/random.ts";
import type { Broker } from "./broker.ts";
import type { Happening, UplinkName } from "./happenings.ts";
import type { Stage } from "./stage.ts";
import { storePath, withStore } from "./with-store.ts";

/** A commit or a PUBLISH that something waits for comes within this time, or not at all. */
const AIM_MS = 20 * 60_000;

/** Ends when it is over. Two of the same kind may overlap; the last to end restores what was normal. */
export async function happen(stage: Stage, what: Happening): Promise<void> {
  const { world, agent, simulator } = stage;
  switch (what.name) {
    case "agent killed":
      return killAgent(stage, what);
    case "agent stopped":
      await agent.stop();
      await world.sleep(what.forMs);
      return agent.start();
    case "gateway fault":
    case "odd records":
      simulator.faults.add(what.fault);
      return world.sleep(what.fault.forMs ?? 0);
    case "gateway away":
      return away(stage, String(simulator.port), what.how, what.forMs);
    case "gateway clock set":
      simulator.clock.setOffset(what.offsetMs);
      await world.sleep(what.forMs);
      return simulator.clock.setOffset(0);
    case "box clock set":
      agent.boxOffsetMs = what.offsetMs;
      return;
    case "link cut": {
      const broker = brokerOf(stage, what.uplink);
      broker.strike(what.n, what.at);
      return;
    }
    case "broker away":
      return away(stage, brokerOf(stage, what.uplink).address, what.how, what.forMs);
    case "broker refusing": {
      const broker = brokerOf(stage, what.uplink);
      broker.isRefusing = true;
      await world.sleep(what.forMs);
      broker.isRefusing = false;
      return;
    }
    case "broker slow": {
      const broker = brokerOf(stage, what.uplink);
      broker.ackDelayMs = what.delayMs;
      await world.sleep(what.forMs);
      broker.ackDelayMs = 0;
      return;
    }
    case "broker forgetful":
      return brokerOf(stage, what.uplink).forget();
    case "disk fault": {
      const { disk } = agent;
      if (disk === null) return;
      disk.fault = what.what;
      await world.sleep(what.forMs);
      disk.fault = null;
      return;
    }
    case "host offline":
      stage.host?.leave(what.isAbrupt);
      await world.sleep(what.forMs);
      return stage.host?.comeBack();
    case "site file changed": {
      const random = new SeededRandom(what.draw);
      for (const change of what.changes) stage.siteFile.change(change, random);
      agent.reload();
      return;
    }
    case "uplinks changed":
      stage.uplinks.change();
      agent.reload();
      return;
    case "command sent":
      return stage.commands.send(what);
    case "document sent":
      return stage.documents.send(what);
  }
}

async function away(
  stage: Stage,
  address: string,
  how: "shut" | "silent",
  forMs: number,
): Promise<void> {
  if (how === "shut") stage.network.shut(address);
  else stage.network.silence(address);
  await stage.world.sleep(forMs);
  stage.network.heal(address);
}

const brokerOf = ({ brokers }: Stage, name: UplinkName): Broker => brokers.get(name) as Broker;

/** Where it is aimed at, or wherever the agent is if that does not come. */
async function killAgent(stage: Stage, what: Happening & { name: "agent killed" }): Promise<void> {
  const { world, agent } = stage;
  const broker = brokerOf(stage, "main");
  const disk = agent.disk;
  if (disk === null) return;
  await new Promise<void>((resolve) => {
    let left = what.n;
    const isDue = () => --left === 0;
    const later = world.after(AIM_MS, () => {
      disk.hooks = {};
      agent.kill();
      resolve();
    });
    const hit = () => {
      later.act = null;
      disk.hooks = {};
      resolve();
      agent.killWithin();
    };
    const cut = () => {
      later.act = null;
      agent.kill();
      resolve();
    };
    switch (what.at) {
      case "now":
        return cut();
      case "before commit":
        disk.hooks = { beforeCommit: () => void (isDue() && hit()) };
        return;
      case "after commit":
        disk.hooks = { afterCommit: () => void (isDue() && hit()) };
        return;
      case "after progress": {
        const isDone = progressWatch(agent.dataDir);
        disk.hooks = { afterCommit: () => void (isDone() && hit()) };
        return;
      }
      case "before rename":
        disk.hooks = { beforeRename: () => void (isDue() && hit()) };
        return;
      case "after rename":
        disk.hooks = { afterRename: () => void (isDue() && hit()) };
        return;
      case "before publish":
      case "after publish":
        broker.strike(what.n, what.at === "before publish" ? "before" : "accepted", cut);
        return;
    }
  });
  await world.sleep(what.forMs);
  agent.start();
}

/** True after a commit that wrote how far a day of a stream was read, and none of its readings. */
function progressWatch(dataDir: string): () => boolean {
  const sql = `SELECT stream, sum(records), (SELECT max(seq) FROM readings r WHERE r.stream = p.stream)
    FROM day_progress p GROUP BY stream`;
  const look = () => {
    const rows = withStore(storePath(dataDir), (db) =>
      db.prepare<[], [number, number, number | null]>(sql).raw().all(),
    );
    return new Map(rows.map(([stream, records, newest]) => [stream, { records, newest }]));
  };
  let before = look();
  return () => {
    const now = look();
    const isOnly = [...now].some(([stream, { records, newest }]) => {
      const { records: known = 0, newest: last = null } = before.get(stream) ?? {};
      return records > known && newest === last;
    });
    before = now;
    return isOnly;
  };
}
