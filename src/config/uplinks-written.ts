import type { OnChange } from "../core/delivery/thinning.ts";
import type { TopicTemplates } from "../core/topics/template.ts";
import type { Profile, Select, UplinkFormat, WaveformPolicy } from "../core/uplink.ts";

/** An uplink as written in the file, once the schema found no fault. */
export interface WrittenUplink {
  readonly name: string;
  /** False: as if it were not in the file. */
  readonly enabled?: boolean;
  readonly url: string;
  readonly version?: 4 | 5;
  readonly clientId?: string;
  readonly username?: string;
  readonly usernameFile?: string;
  readonly passwordFile?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly sasKeyFile?: string;
  readonly proxy?: string;
  readonly proxyAuthFile?: string;
  readonly alpn?: readonly string[];
  readonly formats?: readonly UplinkFormat[];
  readonly profile?: Profile;
  readonly topicPrefix?: string;
  readonly topics?: TopicTemplates;
  readonly select?: Partial<Select>;
  readonly history?: boolean;
  readonly waveforms?: WaveformPolicy;
  readonly maxAgeHours?: number | null;
  readonly onChange?: OnChange | null;
  readonly everyS?: number | null;
  readonly compact?: boolean;
  readonly machines?: boolean;
  readonly startFrom?: "stored" | "now";
  readonly inflight?: number;
  readonly backlogRate?: number;
  readonly requireSubscriber?: boolean;
  readonly retain?: boolean;
  readonly raw?: boolean;
  readonly commands?: boolean;
  readonly sparkplug?: {
    readonly group?: string;
    readonly node?: string;
    readonly host?: string;
    readonly historyBatch?: number;
    readonly machines?: boolean;
  };
}
