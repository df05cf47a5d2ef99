import type { FleetBox } from "../collect/main.ts";
import { type CollectSettings, loadCollectSettings } from "../config/collect-settings.ts";
import { faultLine } from "../config/fault.ts";
import { codeOf, messageOf } from "../core/thrown.ts";
import { loadCollectBundle, UNFIT } from "./collect-bundle.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { ConfigurationError } from "./configuration.ts";
import { fleetText, machinesText } from "./fleet-text.ts";

/**
 * Boxes at a glance: 0 all fine, 1 one needs attention, or neither broker nor database responds. `retire`: 0 done, 1 the
 * box is online or something failed, 2 no such box.
 */
export async function run(context: CommandContext): Promise<number> {
  const { flags, operands = [], env, cwd, stderr } = context;
  const [action, site, ...others] = operands;
  const isRetiring = action === "retire" && site !== undefined && others.length === 0;
  if (action === "retire" && site === undefined)
    throw new UsageError("which box? `fleet retire SITE`; `gateside fleet` lists them");
  if (action !== undefined && !isRetiring)
    throw new UsageError(
      `${JSON.stringify(operands.join(" "))} is neither empty nor \`retire SITE\``,
    );
  if (flags.has("force") && !isRetiring)
    throw new UsageError("--force belongs to `fleet retire SITE`");
  const { settings, faults, warnings } = loadCollectSettings({
    env,
    cwd,
    flag: (name) => flags.text(name === "to" ? "db" : name),
    databaseFlag: "db",
    required: isRetiring ? ["from", "to"] : [],
  });
  for (const warning of warnings) stderr.write(`warning: ${faultLine(warning)}\n`);
  if (settings === null) throw new ConfigurationError(faults);
  if (flags.has("machines")) {
    if (isRetiring) throw new UsageError("--machines and `fleet retire SITE` exclude each other");
    return machines(context, settings);
  }
  if (flags.has("worst")) throw new UsageError("--worst belongs to --machines");
  return isRetiring ? retire(context, settings, site) : show(context, settings);
}

async function retire(
  { flags, stdout, stderr }: CommandContext,
  settings: CollectSettings,
  site: string,
): Promise<number> {
  if (settings.from.some(isAmqp))
    throw new UsageError("retained topics are cleared over mqtt(s)://; --from amqp cannot do that");
  const { retireBox } = await loadCollectBundle();
  try {
    const isForced = flags.has("force");
    const outcome = await retireBox({ ...settings, site, db: settings.to, isForced });
    if (outcome.result === "retired") {
      const topics = outcome.topics === null ? "its" : `${outcome.topics}`;
      stdout.write(
        `${site} is retired: ${topics} retained topics cleared; its readings are kept\n`,
      );
      return 0;
    }
    const isUnknown = outcome.result === "unknown";
    stderr.write(
      isUnknown
        ? `error: no box ${JSON.stringify(site)} in the database or at the broker; \`gateside fleet\` lists them\n`
        : `error: ${site} is online; stop it first, or use --force\n`,
    );
    return isUnknown ? 2 : 1;
  } catch (error) {
    stderr.write(`error: ${messageOf(error)}\n`);
    return isUnfit(error) ? 2 : 1;
  }
}

const isAmqp = (address: string) => address.startsWith("amqp");

/** Exit code 1 if a machine is in alarm and nobody has acknowledged it, whether it is listed or not. */
async function machines(
  { flags, stdout, stderr }: CommandContext,
  settings: CollectSettings,
): Promise<number> {
  if (settings.to === "") throw new UsageError("--machines reads the database: --db is required");
  const worst = flags.number("worst", { min: 1, max: 100_000, isInteger: true }) ?? WORST;
  const { readMachines } = await loadCollectBundle();
  try {
    const found = await readMachines(settings.to, worst);
    stdout.write(
      flags.has("json") ? `${JSON.stringify(found.machines, null, 2)}\n` : machinesText(found),
    );
    return found.unacknowledged > 0 ? 1 : 0;
  } catch (error) {
    stderr.write(`error: ${messageOf(error)}\n`);
    return isUnfit(error) ? 2 : 1;
  }
}

/** The database itself has to be chosen or set otherwise. */
const isUnfit = (error: unknown): boolean => codeOf(error) === UNFIT;

/** Machines that are listed unless --worst says otherwise. */
const WORST = 20;

async function show(
  { flags, stdout, stderr }: CommandContext,
  settings: CollectSettings,
): Promise<number> {
  // A flag takes precedence over the environment, and the database over the broker, because it also knows boxes that
  // have nothing retained.
  const isBroker = flags.has("from") && !flags.has("db");
  const db = settings.to === "" || isBroker ? null : settings.to;
  if (db === null && settings.from.length === 0) throw new UsageError("--from or --db is required");
  if (db === null && settings.from.some(isAmqp))
    throw new UsageError(
      "retained topics are read over mqtt(s)://; over AMQP there are none, so use --db",
    );
  if (db !== null && flags.has("prefix"))
    stderr.write(
      "warning: --prefix has no effect with --db, which shows the boxes of every prefix\n",
    );
  const { readFleet } = await loadCollectBundle();
  let boxes: FleetBox[];
  try {
    boxes = await readFleet({ ...settings, db }, Date.now());
  } catch (error) {
    stderr.write(`error: ${messageOf(error)}\n`);
    return isUnfit(error) ? 2 : 1;
  }
  if (boxes.length === 0)
    stderr.write(
      db === null
        ? `warning: the broker has retained nothing of a box below ${settings.prefix}/: compare --prefix with the boxes' MQTT_TOPIC_PREFIX, and see whether this user may read there\n`
        : "warning: no box has arrived in this database: see whether `gateside collect` runs and writes to it\n",
    );
  const ill = boxes.filter(({ needsHands }) => needsHands.length > 0);
  const which = flags.has("attention") ? "attention" : flags.has("all") ? "all" : "folded";
  stdout.write(
    flags.has("json")
      ? `${JSON.stringify(which === "attention" ? ill : boxes, null, 2)}\n`
      : fleetText(boxes, which),
  );
  // A monitor that asks in the wrong place must not be told that all is well.
  return ill.length > 0 || boxes.length === 0 ? 1 : 0;
}
