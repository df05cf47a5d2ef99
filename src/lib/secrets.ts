/** Shown in place of a secret. */
const MASK = "***";
/** A beginning of a secret is recognised from this length on: a shorter one could be any word. */
const PREFIX_MIN = 8;
/** Shorter secrets cannot be distinguished from ordinary text. */
const SECRET_MIN = 4;
/** Longer texts are truncated before they are searched: what is shown is far shorter. */
const TEXT_MAX = 65_536;

/**
 * The one gate for text that comes from elsewhere (a gateway, a broker, a service, a record) and is shown anywhere:
 * log, status, API, doctor, probe, support bundle, statistics, Sparkplug. It knows every configured secret as it is, in
 * base64 (at each of the three alignments, with either alphabet), percent-encoded, in hexadecimal, as JSON and HTML
 * escape it, and every beginning of eight characters or more of any of these. Texts are truncated after they passed the
 * gate, never before.
 */
export class SecretGate {
  /** By their first characters; in lower case. */
  readonly #forms: ReadonlyMap<string, readonly string[]>;
  readonly #starts: readonly string[];

  constructor(secrets: Iterable<string>) {
    const forms = new Map<string, string[]>();
    for (const secret of new Set(secrets)) {
      for (const form of formsOf(secret)) {
        const start = form.slice(0, PREFIX_MIN);
        const known = forms.get(start);
        if (known === undefined) forms.set(start, [form]);
        else if (!known.includes(form)) known.push(form);
      }
    }
    this.#forms = forms;
    this.#starts = [...forms.keys()];
  }

  get isEmpty(): boolean {
    return this.#starts.length === 0;
  }

  /** The text with every secret, and every beginning of one, masked. */
  redact(text: string): string {
    if (this.#starts.length === 0 || text === "") return text;
    const given = text.length > TEXT_MAX ? text.slice(0, TEXT_MAX) : text;
    // Letter by letter, so that positions in both are the same.
    const folded = fold(given);
    const hidden: [number, number][] = [];
    for (const start of this.#starts) {
      for (let at = folded.indexOf(start); at >= 0; at = folded.indexOf(start, at + 1)) {
        let end = at;
        for (const form of this.#forms.get(start) ?? []) {
          end = Math.max(end, at + commonLength(folded, at, form));
        }
        hidden.push([at, end]);
      }
    }
    return hidden.length === 0 ? given : masked(given, hidden);
  }

  /** A JSON value with every text and every name in it redacted. */
  redactValue<T>(value: T): T {
    // A value keeps its shape: texts stay texts.
    return this.#value(value) as T;
  }

  #value(value: unknown): unknown {
    if (typeof value === "string") return this.redact(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#value(item));
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.redact(name), this.#value(item)]),
    );
  }
}

/** Knows no secrets, for tests and for parts that have none. */
export const openGate = new SecretGate([]);

/** Case folding that keeps every position: toLowerCase makes some letters longer. */
function fold(text: string): string {
  const folded = text.toLowerCase();
  return folded.length === text.length
    ? folded
    : text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function commonLength(text: string, at: number, form: string): number {
  let length = 0;
  while (length < form.length && text[at + length] === form[length]) length += 1;
  return length;
}

function masked(text: string, hidden: [number, number][]): string {
  hidden.sort(([a], [b]) => a - b);
  let clean = "";
  let shownTo = 0;
  for (const [from, to] of hidden) {
    if (to <= shownTo) continue;
    if (from > shownTo || shownTo === 0)
      clean += `${text.slice(shownTo, Math.max(from, shownTo))}${MASK}`;
    shownTo = to;
  }
  return clean + text.slice(shownTo);
}

/** Every encoding that others use for a text; folded, and long enough to be distinguished from other text. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const hex = bytes.toString("hex");
  const escaped = JSON.stringify(secret).slice(1, -1);
  const units = Array.from({ length: secret.length }, (_, n) => secret.charCodeAt(n));
  const forms = [
    secret,
    encoded(secret),
    encoded(secret).replaceAll("%20", "+"),
    hex,
    hex.replace(/../g, "%$&"),
    hex.replace(/../g, "\\x$&"),
    hex.replace(/..(?!$)/g, "$& "),
    hex.replace(/..(?!$)/g, "$&:"),
    escaped,
    escaped.replaceAll("/", "\\/"),
    units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join(""),
    units.map((unit) => `&#${unit};`).join(""),
    units.map((unit) => `&#x${unit.toString(16)};`).join(""),
    htmlEscaped(secret, "&#39;"),
    htmlEscaped(secret, "&#x27;"),
    // 16-bit text read as 8-bit shows a space between its letters.
    Array.from(secret).join(" "),
    // 8-bit text decoded with the wrong character set.
    bytes.toString("latin1"),
    ...[0, 1, 2].flatMap((shift) => alignedBase64(bytes, shift)),
  ];
  return [...new Set(forms.map(fold))].filter((form) => form.length >= SECRET_MIN);
}

function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text; // Half of a surrogate pair.
  }
}

function htmlEscaped(text: string, apostrophe: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", apostrophe);
}

/** The characters that depend only on the secret if `shift` bytes modulo 3 precede it. */
function alignedBase64(bytes: Buffer, shift: number): string[] {
  const text = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString("base64")
    .replace(/=+$/, "");
  const rest = (bytes.length + shift) % 3;
  // The first characters contain bits of what precedes, the last one bits of what follows.
  const own = text.slice([0, 2, 3][shift], rest === 0 ? text.length : -1);
  const urlOwn = own.replaceAll("+", "-").replaceAll("/", "_");
  return [own, urlOwn, own.replaceAll("/", "\\/"), encoded(own)].filter(
    (form) => form.length >= PREFIX_MIN,
  );
}
