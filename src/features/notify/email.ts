/** Notices as one mail, a line each, and below them a line for each machine that they are about. */
import { getSystemErrorName } from "node:util";
import { triedAddresses } from "../../core/addresses/tried-addresses.ts";
import { wallClockText } from "../../core/time/time-zone.ts";
import { DeliveryRefused, type Send } from "./delivery.ts";
import { type Machines, machineLine, NO_MACHINES } from "./machines.ts";
import { sensorsOf } from "./notice.ts";

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

export function email(
  { url, from, to, zone, link }: Mailbox,
  site: () => string,
  machines: Machines = NO_MACHINES,
): Send {
  return async (notices, signal) => {
    // Loaded only if a mailbox is configured.
    const { createTransport } = await import("nodemailer");
    const transport = createTransport({
      url,
      requireTLS: sendsLogin(url),
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
      const told = (await machines(sensorsOf(notices))).map(machineLine);
      const now = told.length === 0 ? "" : `\n\nMachines now:\n${told.join("\n")}`;
      const { rejected } = await transport.sendMail({
        signal,
        from,
        to: [...to],
        subject: `[${site()}] ${first?.text ?? "alarm"}${rest}`
          .replace(/\p{Cc}+/gu, " ")
          .slice(0, SUBJECT_MAX),
        text: `${lines.join("\n")}${now}\n\nTimes: ${zone}.${link === null ? "" : `\n${link}`}\n`,
      });
      return rejected.length === 0
        ? null
        : `the mail server refuses ${rejected.length} of ${to.length} recipients: ${rejected.map(addressOf).join(", ")}`;
    } catch (error) {
      throw inWords(error);
    } finally {
      transport.close();
    }
  };
}

/** Over the network a log-in goes encrypted or not at all: whoever is in the way could strip the offer of STARTTLS. */
function sendsLogin(url: string): boolean {
  const { username, hostname } = new URL(url);
  return username !== "" && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

const CERTIFICATE_CODE = /CERT|VERIFY|ALTNAME/;

type Recipient = string | { readonly address: string };

const addressOf = (recipient: Recipient) =>
  typeof recipient === "string" ? recipient : recipient.address;

/** What the server says may repeat a secret: its number and the step say enough. */
function inWords(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const [code, status, original, errno] = ["code", "responseCode", "originalCode", "errno"].map(
    (name): unknown => Reflect.get(error, name),
  );
  const reply = typeof status === "number" ? ` (SMTP ${status})` : "";
  if (code === "EAUTH")
    return new DeliveryRefused(`the mail server refuses the user name or password${reply}`);
  if (code === "EENVELOPE")
    return new DeliveryRefused(`the mail server refuses the sender or every recipient${reply}`);
  if (typeof status === "number")
    return new DeliveryRefused(`the mail server refuses the message${reply}`, status >= 500);
  // nodemailer calls every failure of a connection ESOCKET.
  const cause =
    typeof errno === "number" && errno < 0 ? getSystemErrorName(errno) : (original ?? null);
  if (typeof cause !== "string") return error;
  return new DeliveryRefused(
    CERTIFICATE_CODE.test(cause)
      ? `the mail server's certificate is not trusted (${cause})`
      : `${cause}${triedAddresses(error)}`,
  );
}
