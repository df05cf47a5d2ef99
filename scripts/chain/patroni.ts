/** Two PostgreSQL servers that Patroni keeps, with etcd: who is the primary is decided there, not here. */
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../test/support/mosquitto.ts";
import { openPostgres } from "../../test/support/postgres.ts";
import { until } from "../../test/support/wait-until.ts";
import { openRelay } from "./brokers.ts";
import { type CabledDatabase, type DatabaseOptions, type Fault, idsIn } from "./cabled-database.ts";
import { endOf, homeOf, Member, PATRONI, start, TTL_S } from "./patroni-member.ts";
import { ask } from "./processes.ts";

const ETCD = "/usr/bin/etcd";
/** A frozen primary, set going again beside its successor, takes writes for this long, ms. */
const TWO_PRIMARIES_MS = 5000;
/** A member may have to be copied anew, ms. */
const SETTLE_MS = 180_000;

export async function openPatroni(
  isSynchronous: boolean,
  { names, random }: DatabaseOptions,
): Promise<CabledDatabase> {
  for (const program of [PATRONI, ETCD])
    if (!existsSync(program)) throw new Error(`${program} is not installed`);
  const directory = mkdtempSync(join(tmpdir(), "gateside-patroni-"));
  chmodSync(directory, 0o755);
  const ends: (() => unknown)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const end = async () => {
    for (const one of ends.reverse()) await one();
  };
  try {
    const etcdPorts = [await freePort(), await freePort()];
    const [clients, peers] = etcdPorts.map((port) => `http://127.0.0.1:${port}`);
    const etcdHome = homeOf(directory, "etcd");
    const startEtcd = () =>
      start(
        [
          ETCD,
          "--name=one",
          `--data-dir=${join(etcdHome, "data")}`,
          `--listen-client-urls=${clients}`,
          `--advertise-client-urls=${clients}`,
          `--listen-peer-urls=${peers}`,
          `--initial-advertise-peer-urls=${peers}`,
          `--initial-cluster=one=${peers}`,
        ],
        etcdHome,
      );
    let etcd = startEtcd();
    const endEtcd = async () => {
      etcd.kill("SIGKILL");
      await endOf(etcd);
    };
    ends.push(() => endEtcd());
    const members: Member[] = [];
    for (const name of ["m1", "m2"]) {
      const member = new Member(name, await freePort(), await freePort(), homeOf(directory, name));
      member.configure(`127.0.0.1:${etcdPorts[0]}`, isSynchronous);
      ends.push(() => member.kill());
      member.start();
      members.push(member);
    }
    const other = (member: Member) => members.find((one) => one !== member) ?? member;
    let leader: Member | undefined;
    /** A leader, another one than `old` if given. */
    const elected = async (old?: Member) => {
      const look = async () => {
        for (const member of members)
          if (member !== old && (await member.isLeader())) return member;
        return undefined;
      };
      leader = await until("Patroni has a leader", look, SETTLE_MS);
      return leader;
    };
    /** Both run, and the standby follows: what comes next finds a whole cluster. */
    const whole = async () => {
      const isWhole = async () =>
        (await other(await elected()).isFollowing(isSynchronous)) || undefined;
      await until("the standby follows", isWhole, SETTLE_MS);
    };
    await whole();
    const url = (name: string) => `postgres://postgres@127.0.0.1:${leader?.port}/${name}`;
    for (const name of names) await ask(url("postgres"), `CREATE DATABASE ${name}`);
    const cables = await Promise.all(members.map(({ port }) => openRelay(port)));
    ends.push(() => Promise.all(cables.map((cable) => cable.close())));
    const hosts = cables.map(({ url: address }) => `127.0.0.1:${new URL(address).port}`).join(",");
    const mayBeGone = new Set<string>();

    /** Ends the former primary and reads what it alone may have: Patroni takes that away when it follows its successor. */
    const buried = async (old: Member) => {
      await old.kill();
      const copy = await openPostgres({ copyOf: old.data });
      try {
        for (const name of names)
          for (const id of await idsIn(`postgres://postgres@127.0.0.1:${copy.port}/${name}`))
            mayBeGone.add(id);
      } finally {
        copy.close();
      }
    };
    const faults: Fault[] = [
      [
        "switchover ordered from Patroni",
        async () => {
          const old = await elected();
          await old.handOver(other(old).name);
          await elected(old);
          await whole();
        },
      ],
      [
        "kill -9 of the primary and its Patroni",
        async () => {
          const old = await elected();
          if (isSynchronous) await old.kill();
          else await buried(old);
          await elected(old);
          old.start();
          await whole();
        },
      ],
      [
        "primary frozen until it is replaced, then both at work",
        async () => {
          const old = await elected();
          old.freeze();
          await elected(old);
          old.thawPostgres();
          await sleep(TWO_PRIMARIES_MS);
          if (isSynchronous) await old.kill();
          else await buried(old);
          old.start();
          await whole();
        },
      ],
      [
        "etcd away: nobody is the primary",
        async () => {
          await endEtcd();
          await sleep(1000 * (TTL_S + random() * 10));
          etcd = startEtcd();
          await whole();
        },
      ],
      [
        "kill -9 of the standby and its Patroni",
        async () => {
          const standby = other(await elected());
          await standby.kill();
          await sleep(2000 + random() * 5000);
          standby.start();
          await whole();
        },
      ],
    ];
    return {
      url,
      to: (name) => `postgres://postgres@${hosts}/${name}?target_session_attrs=read-write`,
      cables,
      faults,
      mayBeGone,
      close: end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}
