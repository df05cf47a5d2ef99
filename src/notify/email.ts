/** Notices as one mail, a line each. */
import { wallClockText } from "../core/time-zone.ts";
import type { Send } from "./delivery.ts";

const WAIT_MS = 20_000;
const SUBJECT_MAX = 200;

export interface Mailbox {
  readonly url: string;
  readonly from: string;
  readonly to: readonly string[];
  /** Of the times in it. */
  readonly zone: string;
  /** Where the box is looked at; null if that is not known. */
  readonly link: string | null;
}

export function email({ url, from, to, zone, link }: Mailbox, site: () => string): Send {
  return async (notices) => {
    // Loaded only if a mailbox is configured.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      url,
      connectionTimeout: WAIT_MS,
      greetingTimeout: WAIT_MS,
      socketTimeout: WAIT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      const [first] = notices;
      const rest = notices.length === 1 ? "" : ` and ${notices.length - 1} more`;
      const lines = notices.map(({ text, timeMs }) => `${wallClockText(timeMs, zone)}  ${text}`);
      await transport.sendMail({
        from,
        to: [...to],
        subject: `[${site()}] ${first?.text ?? "alarm"}${rest}`
          .replace(/\p{Cc}+/gu, " ")
          .slice(0, SUBJECT_MAX),
        text: `${lines.join("\n")}\n\nTimes: ${zone}.${link === null ? "" : `\n${link}`}\n`,
      });
    } finally {
      transport.close();
    }
  };
}
