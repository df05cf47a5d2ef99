/** The machines that a message is about, with their conditions when it is sent. */

/** As the API says it, worst first. */
interface KnownMachine {
  readonly id: number | null;
  readonly name: string | null;
  readonly area: string | null;
  readonly condition: string;
  readonly zone: string | null;
  readonly stage: number | null;
  readonly since: string | null;
  readonly acknowledged: boolean;
}

export interface MachineSource {
  worstFirst(): Promise<readonly (KnownMachine & { readonly sensors: readonly string[] })[]>;
}

/** In the words of the machine's topic (plant section 25). */
export interface ToldMachine extends Omit<KnownMachine, "id"> {
  readonly machine: number | null;
}

/** Of the sensors that a message names. */
export type Machines = (sensors: readonly string[]) => Promise<readonly ToldMachine[]>;

/** No message names a machine. */
export const NO_MACHINES: Machines = () => Promise.resolve([]);

export function toldMachine(known: KnownMachine): ToldMachine {
  const { id, name, area, condition, zone, stage, since, acknowledged } = known;
  return { machine: id, name, area, condition, zone, stage, since, acknowledged };
}

/** `Pump 4 (Boiler house): alarm, zone D, stage 2` */
export function machineLine({ machine, name, area, ...now }: ToldMachine): string {
  const place = area === null ? "" : ` (${area})`;
  const parts = [
    now.condition,
    now.zone === null ? "" : `zone ${now.zone}`,
    now.stage === null ? "" : `stage ${now.stage}`,
    now.acknowledged ? "acknowledged" : "",
  ];
  return `${name ?? `Machine ${machine}`}${place}: ${parts.filter((part) => part !== "").join(", ")}`;
}
