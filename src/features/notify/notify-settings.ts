/** What the feature reads of the settings. */
export interface NotifySettings {
  /** Secret, like the headers and the key. */
  readonly alarmWebhookUrl: string | null;
  readonly alarmWebhookHeaders: Readonly<Record<string, string>>;
  readonly alarmWebhookSecret: string | null;
  readonly alarmWebhookCaFile: string | null;
  /** The URL with user name and password. */
  readonly alarmEmail: {
    readonly url: string;
    readonly from: string;
    readonly to: readonly string[];
  } | null;
  readonly alarmDigestMinutes: number | null;
  readonly heartbeatUrl: string | null;
  readonly heartbeatS: number;
  readonly httpPublicUrls: readonly string[];
  readonly gatewayTimezone: string;
}
