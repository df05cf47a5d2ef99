import type { PublishTrial } from "../../core/agent-status.ts";
import { reasonName } from "../../core/delivery/reason-names.ts";
import type { Message, PublishOutcome } from "../../core/message.ts";
import type { Uplink } from "../../core/uplink.ts";
import { refusalRemedy } from "./refusals.ts";

const NO_SUBSCRIBER = 0x10;

/**
 * What the publish of a trial says of the rights and limits of this client.
 * @param outcome null: there was no acknowledgement in time
 * @param isReadBack null: that was not tried
 */
export function publishResult(
  { topic, payload }: Message,
  outcome: PublishOutcome | null,
  { clientId, version }: Pick<Uplink, "clientId" | "version">,
  isReadBack: boolean | null = null,
): Pick<PublishTrial, "ok" | "detail"> {
  const failed = (detail: string) => ({ ok: false, detail });
  switch (outcome?.result) {
    case "delivered":
      if (isReadBack === true)
        return {
          ok: true,
          detail: `a publish of ${payload.length} bytes to ${topic} was acknowledged and read back`,
        };
      if (isReadBack === false)
        return failed(
          `a publish of ${payload.length} bytes to ${topic} was acknowledged, but did not come back: MQTT 3.1.1 acknowledges what the broker drops. Give this client the right to publish and to read there`,
        );
      return {
        ok: true,
        detail: `a publish to ${topic} was acknowledged${version === 4 ? ", but MQTT 3.1.1 acknowledges refused publishes, too: see with a subscriber that it arrives, or use MQTT 5" : ""}`,
      };
    case "refused": {
      const { code } = outcome;
      if (code === NO_SUBSCRIBER)
        return { ok: true, detail: `a publish to ${topic} was acknowledged; nobody subscribes` };
      const remedy = refusalRemedy(code, clientId);
      return failed(`a publish to ${topic} is refused (${reasonName(code)}): ${remedy}`);
    }
    case "oversize":
      return failed(
        `a publish of ${outcome.bytes} bytes exceeds the broker's limit of ${outcome.limitBytes}`,
      );
    case "lost":
    case undefined:
      return failed(
        `a publish to ${topic} was not acknowledged; some brokers end the session if rights are missing`,
      );
  }
}
