/**
 * Each address of a name but the last is given this long, ms, before the next is tried. The runtime's 250 ms leave out what is further
 * away: a satellite link needs 1.5 s.
 */
export const ATTEMPT_MS = 2_000;

const WORDS: Readonly<Record<string, string>> = {
  ETIMEDOUT: `no answer within ${ATTEMPT_MS / 1000} s`,
  ECONNREFUSED: "nothing accepts connections there",
  ENETUNREACH: "this machine has no route to its network",
  EADDRNOTAVAIL: "this machine has no address of that family",
  EHOSTUNREACH: "no route to it",
};

interface Attempt {
  readonly address: string;
  readonly port: number;
  readonly code: string;
}

function attemptOf(error: unknown): Attempt | null {
  if (!(error instanceof Error)) return null;
  const [address, port, code] = ["address", "port", "code"].map((name): unknown =>
    Reflect.get(error, name),
  );
  if (typeof address !== "string" || typeof port !== "number" || typeof code !== "string")
    return null;
  return { address, port, code };
}

/** The addresses of a name that were tried in vain, and how each ended: " (tried 10.0.0.1:80: …; [::1]:80: …)"; "" for one alone. */
export function triedAddresses(error: unknown): string {
  const inner: unknown = error instanceof Error ? error.cause : null;
  const all: unknown = error instanceof AggregateError ? error.errors : null;
  if (!Array.isArray(all)) return inner instanceof Error ? triedAddresses(inner) : "";
  const tried = all.map(attemptOf).filter((one) => one !== null);
  if (tried.length < 2) return "";
  const texts = tried.map(({ address, port, code }) => {
    const host = address.includes(":") ? `[${address}]` : address;
    return `${host}:${port}: ${WORDS[code] ?? code}`;
  });
  return ` (tried ${texts.join("; ")})`;
}
