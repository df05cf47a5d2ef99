import type { Uplink } from "../core/uplink.ts";
import type { PayloadProfile } from "../pipeline/publish/formats/profile.ts";
import type { OtherAgents } from "../pipeline/publish/other-agents.ts";
import type { ReadBack } from "../pipeline/publish/read-back.ts";
import type { DestinationParts, ownParts } from "./destination.ts";

/** What the parts of one uplink share. */
export interface SharedUplinkParts {
  readonly uplink: Uplink;
  readonly parts: DestinationParts;
  readonly own: ReturnType<typeof ownParts>;
  readonly profile: PayloadProfile;
  readonly others: OtherAgents;
  readonly readBack: ReadBack;
  readonly isChosen: (sensor: string) => boolean;
}
