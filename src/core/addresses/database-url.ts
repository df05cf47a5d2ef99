/** A PostgreSQL address taken apart: libpq's form with several hosts, of which one is the primary at a time. */
export interface DatabaseAddress {
  /** One address a host, in the order given. */
  readonly hosts: readonly string[];
  /** True if `target_session_attrs` asks for a server that accepts writes. */
  readonly isPrimary: boolean;
  /** COLLECT_SCHEMA; null: the one that the role finds first. */
  readonly schema: string | null;
}

/** COLLECT_SCHEMA goes with the address, as the other things that a connection needs. */
const SCHEMA = "gateside_schema";

/** The address for tables of this schema; null or empty: unchanged. */
export function withSchema(text: string, schema: string | null | undefined): string {
  if (text === "" || !schema) return text;
  return `${text}${text.includes("?") ? "&" : "?"}${SCHEMA}=${encodeURIComponent(schema)}`;
}

const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/;
const PRIMARY = ["read-write", "primary"];

/** Null if the text is no such address. */
export function databaseAddress(text: string): DatabaseAddress | null {
  const [, scheme = "", user = "", authority = "", path = "", query = ""] = FORM.exec(text) ?? [];
  if (scheme === "") return null;
  const options = new URLSearchParams(query);
  const session = options.get("target_session_attrs") ?? "any";
  if (session !== "any" && !PRIMARY.includes(session)) return null;
  options.delete("target_session_attrs");
  const schema = options.get(SCHEMA);
  options.delete(SCHEMA);
  const named = options.get("host")?.split(",");
  const ports = options.get("port")?.split(",");
  const hosts = (named ?? authority.split(",")).map((host, at) => {
    if (named !== undefined) options.set("host", host);
    const port = ports?.[at] ?? ports?.[0];
    if (port !== undefined) options.set("port", port);
    const asked = options.size === 0 ? "" : `?${options}`;
    return `${scheme}${user}${named === undefined ? host : authority}${path}${asked}`;
  });
  if (hosts.length > 1 && (named ?? authority.split(",")).includes("")) return null;
  if (!hosts.every((host) => URL.canParse(host))) return null;
  return { hosts, isPrimary: PRIMARY.includes(session), schema };
}

/** The address without user name, password and options, for logs. */
export function publicDatabase(text: string): string {
  const [, , , authority, path] = FORM.exec(text) ?? [];
  return authority === undefined ? "postgres://…" : `postgres://${authority}${path}`;
}
