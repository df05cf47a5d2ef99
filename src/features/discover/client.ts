import { fetch, type ProxyAgent, type Response } from "undici";
import { isJsonObject, type JsonObject } from "../../core/record.ts";
import { withoutTrailing } from "../../core/text/text-ends.ts";
import { proxyAgent } from "../../lib/proxy.ts";
import { SecretGate } from "../../lib/secrets.ts";
import { withinMs } from "../../lib/time-limit.ts";
import { basicAuthorization, loginOf, secretsOfAddress } from "../../lib/url-login.ts";
import {
  API_ASSIGNMENT,
  API_DEVICE,
  API_LOGIN,
  API_NODE,
  API_OPERATIONS,
  API_REQUEST,
  ENVELOPE,
} from "../../pipeline/wire/names.ts";
import type { WireNames } from "../../pipeline/wire/wire-names.ts";
import { AnalyticsFailure, reasonOf, remedyOf } from "./failure.ts";
import { envelopes, integerOf, rowsOf, textOf } from "./response.ts";

/** One operation, first byte to last. */
const ANSWER_TIMEOUT_MS = 60_000;
const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;
/** A list of thousands of devices is a few megabytes. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
/** Anybody may be responding before a login. */
const LOGIN_BYTES_MAX = 64 * 1024;
/** A level of the tree that is not filtered. */
const ANY = -1;

export interface ListedNode {
  readonly id: number;
  readonly name: string;
}
export interface ListedDevice {
  readonly code: string;
  readonly type: number | null;
  readonly name: string;
  readonly description: string;
  readonly model: string;
  readonly batteryType: number | null;
  readonly channelCount: number | null;
  /** False only if the service says so. */
  readonly isEnabled: boolean;
}
export interface Assignment {
  readonly machine: number;
  readonly point: number;
  /** 1 H, 2 V, 3 A; null for sensors that measure no vibration, or if the service does not say. */
  readonly axis: number | null;
}

/** Device, tree and axis lists of a remote analytics service, read tolerantly (services sections 2 and 4). */
export class AnalyticsClient {
  readonly #base: string;
  /** Of something in front of the service, from its address. */
  readonly #login: Readonly<Record<string, string>>;
  #token: string;
  /** For responses. */
  #gate: SecretGate;
  /** For failure messages: hides the login password too, which may be any word of a response. */
  #textGate: SecretGate;
  readonly #secrets: readonly string[];
  readonly #names: WireNames;
  readonly #dispatcher: ProxyAgent | null;

  /** `url` is the base address, with or without the service's own path; `proxy` an HTTP proxy in front of it. */
  constructor(url: string, token: string, names: WireNames, proxy: string | null = null) {
    const path = names.apiPath("");
    const address = URL.canParse(url) ? new URL(url) : null;
    const login = address === null ? null : loginOf(address);
    this.#login = login === null ? {} : { authorization: basicAuthorization(login) };
    if (address !== null) address.username = address.password = "";
    const trimmed = withoutTrailing(address?.href ?? url, "/");
    this.#base = `${trimmed}/`.endsWith(`/${path}`) ? `${trimmed}/` : `${trimmed}/${path}`;
    this.#token = token;
    this.#secrets = [token, ...secretsOfAddress(url), ...secretsOfAddress(proxy)];
    this.#gate = new SecretGate(this.#secrets);
    this.#textGate = this.#gate;
    this.#names = names;
    this.#dispatcher =
      proxy === null
        ? null
        : proxyAgent({ proxy, ca: null, connectMs: CONNECT_MS, keepAliveMs: KEEP_ALIVE_MS });
  }

  /** Connections of the proxy are kept until then. */
  async close(): Promise<void> {
    await this.#dispatcher?.destroy();
  }

  /**
   * Opens a session: the token it returns is used from here on. The password is sent only in the body of this one call.
   */
  async login(email: string, password: string, signal: AbortSignal): Promise<void> {
    // A service may echo its input; neither may appear in our output.
    this.#textGate = new SecretGate([...this.#secrets, password]);
    const values = await this.#call(
      API_OPERATIONS.login,
      { [API_REQUEST.email]: email, [API_REQUEST.password]: password },
      signal,
    );
    const [session] = rowsOf(values, this.#names);
    const token = session === undefined ? "" : textOf(this.#names.member(session, API_LOGIN.token));
    if (token === "") {
      throw new AnalyticsFailure(
        "service_status",
        API_OPERATIONS.login,
        "the service returned no token; check e-mail and password",
      );
    }
    this.#token = token;
    this.#gate = new SecretGate([...this.#secrets, token]);
    this.#textGate = new SecretGate([...this.#secrets, password, token]);
  }

  /** All devices, or those at one point. */
  async devices(
    place: { readonly machine: number; readonly point: number } | null,
    signal: AbortSignal,
  ): Promise<ListedDevice[]> {
    const values = await this.#call(
      API_OPERATIONS.devices,
      {
        [API_REQUEST.companyId]: ANY,
        [API_REQUEST.areaId]: ANY,
        [API_REQUEST.machineCode]: place?.machine ?? ANY,
        [API_REQUEST.pointIndex]: place?.point ?? ANY,
      },
      signal,
    );
    return rowsOf(values, this.#names).flatMap((row) => this.#device(row) ?? []);
  }

  companies(signal: AbortSignal): Promise<ListedNode[]> {
    return this.#nodes(API_OPERATIONS.companies, {}, signal);
  }
  areas(company: number, signal: AbortSignal): Promise<ListedNode[]> {
    return this.#nodes(API_OPERATIONS.areas, { [API_REQUEST.idcompany]: company }, signal);
  }
  machines(area: number, signal: AbortSignal): Promise<ListedNode[]> {
    return this.#nodes(API_OPERATIONS.machines, { [API_REQUEST.idarea]: area }, signal);
  }
  points(machine: number, signal: AbortSignal): Promise<ListedNode[]> {
    return this.#nodes(API_OPERATIONS.points, { [API_REQUEST.machinecode]: machine }, signal);
  }
  /** Axis codes at a point, as listed. */
  async axes(machine: number, point: number, signal: AbortSignal): Promise<number[]> {
    const fields = { [API_REQUEST.machinecode]: machine, [API_REQUEST.pointindex]: point };
    const nodes = await this.#nodes(API_OPERATIONS.axes, fields, signal);
    return nodes.map(({ id }) => id);
  }
  async assignments(code: string, signal: AbortSignal): Promise<Assignment[]> {
    const fields = { [API_REQUEST.code]: code };
    const values = await this.#call(API_OPERATIONS.sensorAssignedMachines, fields, signal);
    return rowsOf(values, this.#names).flatMap((row) => {
      const machine = integerOf(this.#names.member(row, API_ASSIGNMENT.machineCode));
      const point = integerOf(this.#names.member(row, API_ASSIGNMENT.pointIndex));
      const axis = integerOf(this.#names.member(row, API_ASSIGNMENT.axis));
      return machine === null || point === null ? [] : [{ machine, point, axis }];
    });
  }

  #device(row: JsonObject): ListedDevice | null {
    const member = (name: string) => this.#names.member(row, name);
    const code = textOf(member(API_DEVICE.code));
    if (code === "") return null;
    const enabled = member(API_DEVICE.enabled);
    return {
      code,
      type: integerOf(member(API_DEVICE.type)),
      name: textOf(member(API_DEVICE.name)),
      description: textOf(member(API_DEVICE.description)),
      model: textOf(member(API_DEVICE.model)),
      batteryType: integerOf(member(API_DEVICE.batteryType)),
      channelCount: integerOf(member(API_DEVICE.channelCount)),
      isEnabled: enabled !== false && integerOf(enabled) !== 0,
    };
  }

  async #nodes(operation: string, fields: JsonObject, signal: AbortSignal): Promise<ListedNode[]> {
    const values = await this.#call(operation, fields, signal);
    return rowsOf(values, this.#names).flatMap((row) => {
      const id = integerOf(this.#names.member(row, API_NODE.id));
      return id === null ? [] : [{ id, name: textOf(this.#names.member(row, API_NODE.name)) }];
    });
  }

  async #call(operation: string, fields: JsonObject, signal: AbortSignal): Promise<unknown[]> {
    const body = JSON.stringify({
      ...this.#names.toWire(fields),
      [API_REQUEST.token]: this.#token,
    });
    const reply = await this.#post(operation, body, signal);
    const parts = envelopes(reply, this.#names, operation);
    const values: unknown[] = [];
    for (const part of parts) {
      const key = this.#names.member(part, ENVELOPE.key);
      if (isJsonObject(key)) {
        const status = integerOf(this.#names.member(key, ENVELOPE.statusNumber));
        if (status !== null && status !== 0) {
          const description = this.#textGate
            .redact(textOf(this.#names.member(key, ENVELOPE.description)))
            .slice(0, 200);
          const detail = `the service returned number ${status}${description === "" ? "" : ` (${description})`}`;
          throw new AnalyticsFailure("service_status", operation, detail, status);
        }
      }
      const value = this.#names.member(part, ENVELOPE.value);
      // An object where an array is expected is a list of one; `[[…]]` is a nested list.
      if (Array.isArray(value)) values.push(...value.flat(1));
      else if (isJsonObject(value)) values.push(value);
    }
    return values;
  }

  #post(operation: string, body: string, signal: AbortSignal): Promise<unknown> {
    return withinMs(signal, ANSWER_TIMEOUT_MS, (limited) =>
      this.#postWithin(operation, body, limited),
    );
  }

  async #postWithin(operation: string, body: string, signal: AbortSignal): Promise<unknown> {
    let response: Response;
    let bytes: Uint8Array;
    try {
      response = await fetch(this.#base + this.#names.wire(operation), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          ...this.#login,
        },
        body,
        // The token must not follow a redirect of the service.
        redirect: "error",
        ...(this.#dispatcher === null ? {} : { dispatcher: this.#dispatcher }),
        signal,
      });
      const bytesMax = operation === API_OPERATIONS.login ? LOGIN_BYTES_MAX : ANSWER_BYTES_MAX;
      bytes = await limitedBody(response, operation, bytesMax);
    } catch (error) {
      if (error instanceof AnalyticsFailure) throw error;
      throw new AnalyticsFailure(
        "unreachable",
        operation,
        this.#textGate.redact(reasonOf(error)),
        null,
      );
    }
    if (!response.ok) {
      const detail = `the service returned HTTP ${response.status}${remedyOf(response.status)}`;
      throw new AnalyticsFailure("http_status", operation, detail, response.status);
    }
    try {
      // Lists of names are written into the site file: they must not contain the token either.
      return this.#gate.redactValue(JSON.parse(new TextDecoder().decode(bytes)));
    } catch {
      throw new AnalyticsFailure("not_json", operation, "the response is not JSON", null);
    }
  }
}

async function limitedBody(
  response: Response,
  operation: string,
  bytesMax: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > bytesMax) {
      throw new AnalyticsFailure("too_large", operation, `more than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
