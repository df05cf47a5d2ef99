/** What stands of machines at the broker of an uplink. */
import { hasFixedTopics, profileOf } from "../../config/profiles.ts";
import { shareBroker } from "../../config/uplinks-sessions.ts";
import {
  machinesKey,
  selectsMachine,
  selectsMachines,
  siteMachines,
} from "../../core/site-machines.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { Uplink } from "../../core/uplink.ts";
import { VERSION } from "../../lib/version.ts";
import { createSiteTopics } from "../../pipeline/publish/formats/naming.ts";
import type { FeatureHost } from "../host.ts";
import type { Standing, UplinkSession } from "../sessions.ts";
import { MachineBoard, type MachineBoardParts, othersMs } from "./machine-board.ts";
import { createMachineMessages } from "./machine-messages.ts";

/**
 * The machines of one uplink; it also takes back those of an earlier run that had machines.
 * @param isOn false: without alarms nothing is said of machines
 */
export function createBoards(
  { clock, memory, site }: Pick<FeatureHost, "clock" | "memory" | "site">,
  parts: Pick<MachineBoardParts, "conditions" | "times">,
  isOn: boolean,
): (session: UplinkSession) => Standing {
  return ({ link, logger, profile, turns, uplink, uplinks }) => {
    const key = machinesKey(uplink.name);
    const machines = isOn && uplink.machines;
    const board = new MachineBoard(
      {
        ...parts,
        link,
        turns,
        site,
        clock,
        logger,
        messages: createMachineMessages(
          uplink,
          { topics: profile.topics, site, version: VERSION },
          profileOf(uplink.profile)?.machines,
        ),
        memory: { load: () => memory.get(key), save: (text) => memory.set(key, text) },
      },
      {
        othersMs: othersMs(uplink),
        isOn: machines && selectsMachines(uplink.select),
        isCompact: uplink.compact,
        isRetained: uplink.retain,
        isSelected: (machine) => machines && selectsMachine(uplink.select, machine),
        hasFixedTopics: hasFixedTopics(uplink.profile),
      },
    );
    return {
      describe: () => board.sync(),
      describeAgain: () => board.renew(),
      run: (signal) => board.run(signal),
      leaving: () => board.removed(toldBeside(uplink, uplinks(), site)),
      left: () => board.forget(),
    };
  };
}

const isPlain = ({ formats }: Uplink) => formats.some((format) => format !== "sparkplug");

/** The topics at which other uplinks tell of machines at the same broker. */
export function toldBeside(
  { name, urls }: Pick<Uplink, "name" | "urls">,
  uplinks: readonly Uplink[],
  source: SiteSource,
): ReadonlySet<string> {
  const { current: site } = source;
  const beside = uplinks.filter(
    (one) => one.name !== name && one.machines && isPlain(one) && shareBroker(one, { urls }),
  );
  const told = beside.flatMap((uplink) => {
    const { select, topicPrefix: prefix, topics: templates } = uplink;
    const topics = createSiteTopics({ prefix, site: site.site, source, templates });
    const messages = createMachineMessages(
      uplink,
      { topics, site: source, version: VERSION },
      profileOf(uplink.profile)?.machines,
    );
    return siteMachines(site)
      .filter((machine) => selectsMachine(select, machine))
      .flatMap((machine) => messages.retained(machine));
  });
  return new Set(told);
}
