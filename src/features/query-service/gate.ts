import { FailureLimit, Sessions, TokenCheck } from "../../http/auth.ts";
import type { HttpOptions, HttpSources } from "../../http/parts.ts";
import { API_LOGIN, API_REQUEST } from "../../pipeline/wire/names.ts";
import { jsonResponse, type QueryResponse } from "./context.ts";
import { OPERATIONS } from "./rules/operations.ts";
import {
  fault,
  isFault,
  QUERY_STATUS,
  type QueryBody,
  type QueryFault,
  readFields,
} from "./rules/request.ts";

/** Different wrong tokens of one address per minute; more than for people, because many tools may share an address. */
const WRONG_TOKENS_MAX = 60;

/** Tokens of the query service: the configured one, and those that Login issued (contract section 7). */
export class QueryGate {
  readonly #token: TokenCheck;
  readonly #sessions: Sessions;
  readonly #wrongTokens: FailureLimit;
  readonly #wrongPasswords: FailureLimit;
  readonly #names: HttpOptions["names"];

  /** @param wrongPasswords counts those of the dashboard's sign-in, too */
  constructor(
    parts: Pick<HttpSources, "clock" | "logger">,
    options: HttpOptions,
    wrongPasswords: FailureLimit,
  ) {
    this.#token = new TokenCheck(options.token, options.viewToken ?? null);
    this.#sessions = new Sessions(parts.clock);
    this.#wrongTokens = new FailureLimit(parts, WRONG_TOKENS_MAX);
    this.#wrongPasswords = wrongPasswords;
    this.#names = options.names;
  }

  /** Null: accepted. Without a configured token any text is accepted. */
  check(token: unknown, address: string): QueryFault | null {
    if (typeof token !== "string") {
      return fault(QUERY_STATUS.tokenWrong, `${API_REQUEST.token} is missing`);
    }
    if (this.#sessions.use(token) !== null) return null;
    if (this.#token.roleOf(token) !== null) return null;
    const waitS = this.#wrongTokens.retryAfterS(address);
    if (waitS > 0) return fault(QUERY_STATUS.tokenWrong, `too many wrong tokens; wait ${waitS} s`);
    this.#wrongTokens.failed(address, token);
    return fault(QUERY_STATUS.tokenWrong, `${API_REQUEST.token} is wrong or has expired`);
  }

  login(body: QueryBody, address: string, site: string): QueryResponse | QueryFault {
    const fields = readFields(OPERATIONS.login, body, this.#names);
    if (isFault(fields)) return fields;
    const password = fields.text(API_REQUEST.password);
    const role = this.#token.roleOf(password);
    if (role === null) {
      const waitS = this.#wrongPasswords.retryAfterS(address);
      if (waitS > 0)
        return fault(QUERY_STATUS.tokenWrong, `too many wrong passwords; wait ${waitS} s`);
      this.#wrongPasswords.failed(address, password);
      return fault(QUERY_STATUS.tokenWrong, "the password is wrong");
    }
    return jsonResponse([
      {
        [API_LOGIN.token]: this.#sessions.open(role),
        [API_LOGIN.dataBase]: {
          [API_LOGIN.id]: 1,
          [API_LOGIN.name]: site,
          [API_LOGIN.dbName]: site,
        },
      },
    ]);
  }
}
