/** One request to an agent, by its address or by its socket. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { request as requestTls, type RequestOptions as TlsOptions } from "node:https";
import { text as textOf } from "node:stream/consumers";
import { checkServerIdentity, rootCertificates } from "node:tls";
import { isSocketPath } from "../lib/paths.ts";

export interface AgentRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Null sends a GET. */
  readonly content: string | null;
  readonly signal: AbortSignal;
}

export interface AgentResponse {
  readonly status: number;
  readonly statusText: string;
  readonly text: string;
}

/**
 * Rejects if there is no response.
 * @param certFile a certificate that is trusted besides the public CAs: our agent's own, which may be self-signed
 */
export async function requestAddress(
  url: string,
  { headers, content, signal, certFile }: AgentRequest & { readonly certFile: string | null },
): Promise<AgentResponse> {
  const isTls = url.startsWith("https:");
  const options = { method: content === null ? "GET" : "POST", headers, agent: false, signal };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const call = isTls
      ? requestTls(url, { ...options, ...trusting(certFile) }, resolve)
      : request(url, options, resolve);
    call.once("error", reject);
    call.end(content ?? undefined);
  });
  const { statusCode: status = 500, statusMessage: statusText = "" } = response;
  return { status, statusText, text: await textOf(response) };
}

/**
 * The exact certificate of the settings is trusted for any name: anyone who can read its file runs on this
 * machine.
 */
function trusting(certFile: string | null): TlsOptions {
  if (certFile === null) return {};
  let own: string;
  try {
    own = readFileSync(certFile, "utf8");
  } catch {
    return {};
  }
  const { fingerprint256 } = new X509Certificate(own);
  return {
    ca: [...rootCertificates, own],
    checkServerIdentity: (host, shown) =>
      shown.fingerprint256 === fingerprint256 ? undefined : checkServerIdentity(host, shown),
  };
}

/** Null if no agent listens there, or this user may not connect. Rejects if one does and does not respond. */
export async function requestSocket(
  socketPath: string,
  path: string,
  { headers, content, signal }: AgentRequest,
): Promise<AgentResponse | null> {
  if (!isSocketPath(socketPath)) return null;
  const response = await new Promise<IncomingMessage | null>((resolve, reject) => {
    const call = request(
      {
        socketPath,
        path,
        method: content === null ? "GET" : "POST",
        headers: { ...headers, host: "localhost" },
        agent: false,
        signal,
      },
      resolve,
    );
    let isConnected = false;
    call.once("socket", (socket) => {
      socket.once("connect", () => {
        isConnected = true;
      });
    });
    call.once("error", (error) => {
      if (isConnected || signal.aborted) reject(error);
      else resolve(null);
    });
    call.end(content ?? undefined);
  });
  if (response === null) return null;
  const { statusCode: status = 500, statusMessage: statusText = "" } = response;
  return { status, statusText, text: await textOf(response) };
}
