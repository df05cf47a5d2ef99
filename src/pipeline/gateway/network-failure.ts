import { triedAddresses } from "../../core/addresses/tried-addresses.ts";
import { CallFailure, type FailureCode } from "../../core/failure.ts";

const CODES: Readonly<Record<string, FailureCode>> = {
  UND_ERR_CONNECT_TIMEOUT: "connect",
  ECONNREFUSED: "connect",
  EHOSTUNREACH: "connect",
  EHOSTDOWN: "connect",
  ENETUNREACH: "connect",
  ENETDOWN: "connect",
  EADDRNOTAVAIL: "connect",
  ETIMEDOUT: "connect",
  ENOTFOUND: "name_resolution",
  EAI_AGAIN: "name_resolution",
  EAI_FAIL: "name_resolution",
  EPROTO: "tls",
};
/** What the operator can check; the code stays for those who know it. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing accepts connections at its address and port",
  EHOSTUNREACH: "no route to its address",
  EHOSTDOWN: "no route to its address",
  ENETUNREACH: "this machine has no route to its network",
  ENETDOWN: "this machine's network is down",
  ETIMEDOUT: "its address does not respond",
  UND_ERR_CONNECT_TIMEOUT: "its address does not respond",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "no DNS server responds",
};
const TLS_CODE = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH)/;

/** The meaning of a failed connection; once the response head has arrived, any failure has truncated the body. */
export function networkFailure(error: unknown, hasHead: boolean): CallFailure {
  if (error instanceof CallFailure) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const systemCode = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const plain = WORDS[systemCode] ?? otherProtocol(systemCode);
  const text = cause.message === "" ? systemCode : cause.message;
  const known = plain === undefined ? text : `${plain} (${systemCode})`;
  const what = `${known}${triedAddresses(error)}`;
  if (hasHead) {
    return new CallFailure({
      message: `the response was truncated: ${what}`,
      failureClass: "truncated",
      code: "connection_lost",
      cause,
    });
  }
  const code = TLS_CODE.test(systemCode) ? "tls" : (CODES[systemCode] ?? "connection_lost");
  return new CallFailure({
    message: `${PHASE[code] ?? "the connection was lost before a response"}: ${what}`,
    failureClass: code === "tls" ? "configuration" : "transient",
    code,
    cause,
  });
}

/** TLS to a plain port, and the reverse: the libraries' messages help nobody. */
function otherProtocol(systemCode: string): string | undefined {
  if (
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE)/.test(systemCode)
  )
    return "it does not use TLS on that port; GATEWAY_URL should probably begin with http://, not https://";
  if (systemCode.startsWith("HPE_"))
    return "what it sends is not HTTP; if that port requires TLS, GATEWAY_URL must begin with https://";
  return undefined;
}

const PHASE: Partial<Record<FailureCode, string>> = {
  connect: "the gateway cannot be reached",
  name_resolution: "the gateway's name cannot be resolved",
  tls: "no trusted TLS connection to the gateway",
};
