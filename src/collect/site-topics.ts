import { topicLevel } from "../core/topics/topic-level.ts";

/**
 * What a dot in a name has become: RabbitMQ's MQTT plug-in writes `.` for `/` in a routing key and leaves dots, so there
 * they are levels as well.
 */
export type Dots = "kept" | "levels";

/** The topics below which sites publish; `{site}` stands where a site's level is. */
export const DEFAULT_TOPIC = "{prefix}/{site}/#";

const SPECIAL = /[\\^$.*?()[\]{}|]/g;

/** Of a topic: what stands before the site, and what after it. */
interface Around {
  readonly before: RegExp;
  readonly after: RegExp;
}

/** What a topic proves: whose message it carries. */
export class SiteTopics {
  readonly #levels: readonly string[];
  readonly #known = new Map<string, RegExp>();
  readonly #around = new Map<Dots, Around>();

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

  /**
   * The levels below those of the pattern, joined; null if this site may not publish there. The site is compared as a
   * text: bodies may name thousands, and an expression for each would be kept.
   */
  restOf(topic: string, dots: Dots, site: string): string | null {
    const { before, after } = this.#aroundSite(dots);
    before.lastIndex = 0;
    if (!before.test(topic)) return null;
    const at = before.lastIndex;
    const level = this.namesSite ? levelOf(topicLevel(site), dots) : "";
    if (!topic.startsWith(level, at)) return null;
    after.lastIndex = at + level.length;
    return after.exec(topic)?.groups?.["rest"] ?? null;
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

  #aroundSite(dots: Dots): Around {
    const known = this.#around.get(dots);
    if (known !== undefined) return known;
    const parts = this.#levels.map((part) => (part === "{site}" ? part : expressionOf(part, dots)));
    // Without a site, everything stands after it.
    const at = parts.indexOf("{site}");
    const around = {
      before: new RegExp(
        parts
          .slice(0, Math.max(at, 0))
          .map((part) => `${part}/`)
          .join(""),
        "sy",
      ),
      after: new RegExp(
        `${parts
          .slice(at + 1)
          .map((part, n) => (at < 0 && n === 0 ? part : `/${part}`))
          .join("")}$`,
        "sy",
      ),
    };
    this.#around.set(dots, around);
    return around;
  }

  #expression(dots: Dots, site: typeof ANY_SITE | typeof ONE_LEVEL): RegExp {
    const key = `${dots} ${site}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const parts = this.#levels.map((part) =>
      part === "{site}" ? `(?<site>${site})` : expressionOf(part, dots),
    );
    const expression = new RegExp(`^${parts.join("/")}$`, "s");
    this.#known.set(key, expression);
    return expression;
  }
}

const ANY_SITE = ".+";
const ONE_LEVEL = "[^/]+";

/** A level of the pattern that is not the site. */
function expressionOf(part: string, dots: Dots): string {
  if (part === "+") return ONE_LEVEL;
  return part === "#" ? "(?<rest>.+)" : levelOf(part, dots).replace(SPECIAL, "\\$&");
}

function levelOf(text: string, dots: Dots): string {
  return dots === "levels" ? text.replaceAll(".", "/") : text;
}
