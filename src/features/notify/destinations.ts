/** The destinations of messages to people, as the settings enable them. */

import type { Runtime } from "../../core/ports.ts";
import { MINUTE_MS } from "../../core/time-units.ts";
import { Delivery, type DeliveryMemory } from "./delivery.ts";
import { Digest, WAITING_MAX } from "./digest.ts";
import { email, type Mailbox } from "./email.ts";
import type { Machines } from "./machines.ts";
import type { Notice } from "./notice.ts";
import { type Webhook, webhook } from "./webhook.ts";

/** Events of one request of the web-hook. */
const WEBHOOK_TOGETHER_MAX = 50;
const EMAIL_DIGEST_MINUTES = 15;

export interface DestinationSettings {
  readonly webhook: Webhook | null;
  readonly mailbox: Mailbox | null;
  /** As set; null by default. */
  readonly digestMinutes: number | null;
}

export interface NoticeParts extends Runtime {
  readonly site: () => string;
  readonly machines: Machines;
  readonly standing: () => readonly Notice[];
  readonly memory: (name: string) => DeliveryMemory;
}

export function createDestinations(
  settings: DestinationSettings,
  { site, machines, memory, ...parts }: NoticeParts,
): Delivery[] {
  const { digestMinutes } = settings;
  const deliveries: Delivery[] = [];
  if (settings.webhook !== null)
    deliveries.push(
      new Delivery({
        ...parts,
        name: "webhook",
        memory: memory("webhook"),
        send: webhook(settings.webhook, site, machines),
        digest: new Digest((digestMinutes ?? 0) * MINUTE_MS),
        togetherMax: WEBHOOK_TOGETHER_MAX,
      }),
    );
  if (settings.mailbox !== null)
    deliveries.push(
      new Delivery({
        ...parts,
        name: "email",
        memory: memory("email"),
        send: email(settings.mailbox, site, machines),
        digest: new Digest((digestMinutes ?? EMAIL_DIGEST_MINUTES) * MINUTE_MS),
        togetherMax: WAITING_MAX,
      }),
    );
  return deliveries;
}
