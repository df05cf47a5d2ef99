import { topicLevel } from "../core/topic-level.ts";

/**
 * What a dot in a name has become: RabbitMQ's MQTT plug-in writes `.` for `/` in a routing key and leaves dots, so there
 * they are levels as well.
 */
export type Dots = "kept" | "levels";

/** The topics below which sites publish; `{site}` stands where a site's level is. */
export const DEFAULT_TOPIC = "{prefix}/{site}/#";

const SPECIAL = /[\\^$.*?()[\]{}|]/g;
/** Limit of sites in memory. */
const REMEMBERED_MAX = 20_000;

/** What a topic proves: whose message it carries. */
export class SiteTopics {
  readonly #levels: readonly string[];
  readonly #known = new Map<string, RegExp>();

  constructor(prefix: string, pattern: string) {
    this.#levels = pattern.replaceAll("{prefix}", prefix).split("/");
  }

  /** False if a pattern without `{site}` leaves everything to the body. */
  get namesSite(): boolean {
    return this.#levels.includes("{site}");
  }

  /** For a subscription over MQTT: `gateside/#`, as persistent sessions have had it since 0.2. */
  get filter(): string {
    return this.#withoutNames.replace(/\/\+\/#$/, "/#");
  }

  /** For a subscription to one of the contract's topics of every site, such as `agent/state`. */
  filterOf(rest: string): string {
    return `${this.#withoutNames.slice(0, -1)}${this.namesSite ? "" : "+/"}${rest}`;
  }

  get #withoutNames(): string {
    return this.#levels.map((level) => (level === "{site}" ? "+" : level)).join("/");
  }

  /** For a binding in RabbitMQ. A site's name may have dots, which are levels there. */
  get bindingKey(): string {
    const words = this.#levels.map((level) =>
      level === "{site}" || level === "#" ? "#" : level === "+" ? "*" : level,
    );
    return words.filter((word, at) => word !== "#" || words[at - 1] !== "#").join(".");
  }

  /** True if any site may publish there. */
  contains(topic: string, dots: Dots): boolean {
    return this.#expression(dots, ANY_SITE).test(topic);
  }

  /** The levels below those of the pattern, joined; null if this site may not publish there. */
  restOf(topic: string, dots: Dots, site: string): string | null {
    return this.#expression(dots, topicLevel(site)).exec(topic)?.groups?.["rest"] ?? null;
  }

  /**
   * The site in a topic and the levels below, for a message that does not name its site. A dot in a name makes more
   * levels of a routing key, which then are not those of the contract.
   */
  split(topic: string, dots: Dots): { site: string; levels: string[] } | null {
    const { site, rest } = this.#expression(dots, ONE_LEVEL).exec(topic)?.groups ?? {};
    if (site === undefined || rest === undefined) return null;
    return { site, levels: rest.split("/") };
  }

  #expression(dots: Dots, site: string | symbol): RegExp {
    const key = `${dots}${typeof site === "symbol" ? site.description : `/${site}`}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size > REMEMBERED_MAX) this.#known.clear();
    const sitePattern =
      site === ANY_SITE ? ".+" : site === ONE_LEVEL ? "[^/]+" : escaped(String(site), dots);
    const parts = this.#levels.map((part) => {
      if (part === "{site}") return `(?<site>${sitePattern})`;
      if (part === "+") return "[^/]+";
      return part === "#" ? "(?<rest>.+)" : escaped(part, dots);
    });
    const expression = new RegExp(`^${parts.join("/")}$`, "s");
    this.#known.set(key, expression);
    return expression;
  }
}

const ANY_SITE = Symbol("any site");
const ONE_LEVEL = Symbol("one level");

function escaped(text: string, dots: Dots): string {
  return (dots === "levels" ? text.replaceAll(".", "/") : text).replace(SPECIAL, "\\$&");
}
