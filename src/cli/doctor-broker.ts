import { existsSync } from "node:fs";
import { join } from "node:path";
import { doctorMessage, largestMessage } from "../agent/doctor-publish.ts";
import { trialOptions } from "../config/broker-options.ts";
import { Certificates } from "../config/certificates.ts";
import type { AgentStatus, PublishTrial } from "../core/agent-status.ts";
import { isUnnamed } from "../core/configuration/empty-site.ts";
import type { Message } from "../core/message.ts";
import { type Certificate, certificateTitle, endingText } from "../core/status/certificate.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import { nativeBinding } from "../lib/paths.ts";
import type { MqttLinkOptions } from "../pipeline/link/link-options.ts";
import { tryAddress } from "../pipeline/link/try-address.ts";
import { DirectoryLock } from "../pipeline/store/database/directory-lock.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { AgentFailure, createAgentClient } from "./agent-client.ts";
import type { ComparedConfiguration } from "./configuration.ts";
import type { Finding } from "./finding.ts";

/** The agent itself waits for acknowledgements. */
const AGENT_TIMEOUT_MS = 15_000;

const CERTIFICATE_STATES = { valid: "ok", ending: "warning", ended: "failed" } as const;

interface Trials {
  readonly uplinks: readonly PublishTrial[];
}

/** Each uplink: a session at each address, and a publish that is not retained; then the certificates of all. */
export async function checkBrokers(
  { settings, site, uplinks }: ComparedConfiguration,
  credentialsDirectory: string | null,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const headingOf = (uplink: string) =>
    uplinks.length === 1 && uplink === MAIN_UPLINK ? "broker" : `broker ${uplink}`;
  const shown: { uplink: string; brokerCertificates: readonly Certificate[] }[] = [];
  const isRunning = isHeld(settings.dataDir);
  if (isUnnamed(site))
    found({
      what: "broker",
      state: "skipped",
      detail:
        "not tried: client ids and topics need the site's name, and there is no site file yet",
    });
  const named = isUnnamed(site) ? [] : uplinks;
  const agent: AgentView =
    isRunning && named.length > 0 ? await askAgent(settings, signal) : { trials: [], links: [] };
  for (const uplink of named) {
    // A running agent keeps its session, and publishes in it: rights may be bound to its client id.
    const suffix = isRunning ? "-doctor" : "";
    const options: MqttLinkOptions = {
      ...trialOptions(uplink, suffix, credentialsDirectory),
      onCertificates: (chain) => shown.push({ uplink: uplink.name, brokerCertificates: chain }),
    };
    const plain = isRunning ? null : doctorMessage(uplink, site);
    const message =
      plain === null || uplink.version === 5 ? plain : largestMessage(plain, uplink, site);
    const own = agent.trials.filter((trial) => trial.uplink === uplink.name);
    await checkAddresses(options, message, own, headingOf(uplink.name), found, signal);
  }
  const certificates = new Certificates({ settings, credentialsDirectory, now: Date.now });
  for (const one of certificates.of(uplinks, shown)) {
    const detail = `${certificateTitle(one)} ${endingText(one)}`;
    found({ what: "certificate", state: CERTIFICATE_STATES[one.state], detail });
  }
  const copies = certificates.restartFiles(uplinks);
  if (copies.length > 0) {
    const detail = `copies of the start below $CREDENTIALS_DIRECTORY, renewed by a restart: ${copies.join(", ")}`;
    found({ what: "credentials", state: "ok", detail });
  }
  if (signal.aborted) return;
  for (const { uplink, url, ok, detail } of agent.trials) {
    const what = headingOf(uplink);
    found({ what, state: ok ? "ok" : "failed", detail: `${url} (running agent): ${detail}` });
  }
  for (const { uplink, stolen, otherAgent } of agent.links)
    for (const detail of [stolen && `the session is ${stolen}`, otherAgent])
      if (detail) found({ what: headingOf(uplink), state: "failed", detail });
  if (agent.failure !== undefined) {
    const detail = `nothing was published: ${agent.failure}; run doctor as the agent's user`;
    found({ what: "broker", state: "warning", detail });
  }
}

interface AgentView {
  readonly trials: readonly PublishTrial[];
  /** Whether another agent has the same identity. */
  readonly links: readonly Pick<AgentStatus["links"][number], "uplink" | "stolen" | "otherAgent">[];
  readonly failure?: string;
}

/** What the sessions of the running agent say. Only by the socket: another instance's agent may be listening on the port. */
async function askAgent(
  settings: ComparedConfiguration["settings"],
  signal: AbortSignal,
): Promise<AgentView> {
  const agent = createAgentClient({ ...settings, httpPort: null });
  try {
    const path = "/api/v1/doctor/publish";
    const { uplinks } = await agent.post<Trials>(path, {}, signal, AGENT_TIMEOUT_MS);
    const { links = [] } = await agent.get<Partial<AgentStatus>>("/api/v1/status", signal);
    return { trials: uplinks, links };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    return { trials: [], links: [], failure: error.message };
  }
}

/** True also where this user may not find out: two sessions with one client id would end each other. */
function isHeld(dataDir: string): boolean {
  if (!existsSync(join(dataDir, "gateside.lock"))) return false;
  try {
    DirectoryLock.take(dataDir, nativeBinding()).release();
    return false;
  } catch (error) {
    if (error instanceof StoreFailure) return true;
    throw error;
  }
}

/** What a broker says whose rights are bound to the client id of the running agent. */
const ABOUT_CLIENT = /^the broker .*(authoris|user name|client id|banned)/;

/**
 * Tries each address of one cluster in turn; `what` is the heading of each finding.
 *
 * @param own the running agent's sessions
 */
async function checkAddresses(
  options: MqttLinkOptions,
  message: Message | null,
  own: readonly PublishTrial[],
  what: string,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const address of options.urls) {
    const tried = await tryAddress(options, address, signal, message);
    if (tried === null) return;
    const { url, ok, detail } = tried;
    const isAgentWell = own.length > 0 && own.every((trial) => trial.ok);
    if (ok) found({ what, state: "ok", detail: `${url} ${detail}` });
    else if (isAgentWell && (ABOUT_CLIENT.test(detail) || own.some((trial) => trial.url === url)))
      found({
        what,
        state: "skipped",
        detail: `${url}: no second session beside the running agent's, whose client id the broker's rights may be bound to; the answer to the client id "${options.clientId}" was: ${detail}`,
      });
    else found({ what, state: "failed", detail: `${url}: ${detail}${remedyFor(detail, what)}` });
  }
}

/** Where to look, unless the reason itself names the setting. */
function remedyFor(why: string, what: string): string {
  if (/^connected|MQTT_|UPLINKS_FILE|clock/.test(why)) return "";
  const isAnswer = why.startsWith("the broker ") && !why.includes("cannot be reached");
  return isAnswer
    ? "; see the broker's log for the reason"
    : "; check that the broker is running and reachable from this network, and that its address is correct" +
        (what === "broker" || what === `broker ${MAIN_UPLINK}` ? " (MQTT_URL)" : "");
}
