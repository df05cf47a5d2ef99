/**
 * The manual that a box serves at `/manual/`: every page of docs/ and the site file's as HTML, with the sections that its search reads. The
 * pages load nothing but their own style, script and pictures, and their links are relative, so that they work below any path.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import type { ManualSection } from "../src/dashboard/manual/find.ts";
import { packagedDocuments } from "./package-documents.ts";

/** By reader; a page of docs/ that is in no group fails the build. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "Begin here": ["start", "operator", "maintenance", "one-minute", "integrator", "security"],
  "Run a box": ["operations", "setup", "site-file", "settings", "network", "troubleshooting"],
  "Judge machines": ["alarms", "diagnosis", "bands"],
  "Connect it": [
    "mqtt",
    "consumers",
    "uplinks",
    "modbus",
    "api",
    "query-service",
    "gateway",
    "node-state",
  ],
  "Own many boxes": ["fleet", "remote", "collect", "scale"],
  "Look up": ["glossary", "metrics", "sparkplug-conformance", "faults", "benchmarks", "testing"],
};
const SITE_FILE = "config/README.md";

interface Chapter {
  /** Its name in the manual, without an ending. */
  readonly name: string;
  readonly title: string;
  readonly html: string;
  readonly sections: readonly ManualSection[];
}

/** Writes pages, pictures and `sections.json` into `directory`. Throws for a link that would lead nowhere. */
export function writeManual(directory: string, version: string): void {
  mkdirSync(join(directory, "images"), { recursive: true });
  const pictures = new Set<string>();
  const chapters = new Map(
    documents().map((document) => [nameOf(document), chapterOf(document, pictures)]),
  );
  const grouped = Object.values(GROUPS).flat();
  const stray = [...chapters.keys()].filter((name) => !grouped.includes(name));
  if (stray.length > 0) throw new Error(`no group of the manual lists ${stray.join(", ")}`);
  for (const chapter of chapters.values()) {
    const page = pageOf({ title: chapter.title, html: chapter.html, chapters, version });
    writeFileSync(join(directory, `${chapter.name}.html`), page);
  }
  const contents = `<h1>Manual of Gateside ${escaped(version)}</h1>\n${listOf(chapters, "")}`;
  const index = pageOf({ title: "Contents", html: contents, chapters, version });
  writeFileSync(join(directory, "index.html"), index);
  const sections = grouped.flatMap((name) => chapters.get(name)?.sections ?? []);
  writeFileSync(join(directory, "sections.json"), JSON.stringify(sections));
  for (const picture of pictures)
    copyFileSync(picture, join(directory, "images", basename(picture)));
}

function documents(): string[] {
  const pages = readdirSync("docs").filter((name) => name.endsWith(".md"));
  return [SITE_FILE, ...pages.sort().map((name) => join("docs", name))];
}

function nameOf(document: string): string {
  return document === SITE_FILE ? "site-file" : basename(document, ".md");
}

function chapterOf(document: string, pictures: Set<string>): Chapter {
  const name = nameOf(document);
  const anchors = new Map<Token, string>();
  const marked = new Marked();
  marked.use({
    renderer: {
      heading(token: Tokens.Heading) {
        const text = this.parser.parseInline(token.tokens);
        return `<h${token.depth} id="${anchors.get(token) ?? ""}">${text}</h${token.depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        return linked(document, href, this.parser.parseInline(tokens));
      },
      image({ href, text }: Tokens.Image) {
        const picture = join(dirname(document), href);
        pictures.add(picture);
        return `<img src="images/${escaped(basename(picture))}" alt="${escaped(text)}" loading="lazy">`;
      },
      // Broad tables and long lines scroll by themselves, so that the page does not; by keyboard, too.
      code: ({ text }: Tokens.Code) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
        const body = token.rows.map((cells) => row(cells, "td")).join("\n");
        return `<div class="table" tabindex="0"><table>\n<thead>${row(token.header, "th")}</thead>\n<tbody>\n${body}\n</tbody></table></div>\n`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    },
  });
  const tokens = marked.lexer(readFileSync(document, "utf8"));
  const headings = tokens.filter((token): token is Tokens.Heading => token.type === "heading");
  const anchorOf = anchorMaker();
  for (const heading of headings) anchors.set(heading, anchorOf(heading.text));
  const title = plain(marked, headings.slice(0, 1));
  const sections: (ManualSection & { text: string })[] = [];
  for (const token of tokens) {
    const text = plain(marked, [token]);
    const last = sections.at(-1);
    const anchor = anchors.get(token);
    if (anchor !== undefined)
      sections.push({ page: `${name}.html`, title, anchor, heading: text, text: "" });
    else if (last !== undefined && text !== "") last.text += `${text} `;
  }
  return { name, title, html: marked.parser(tokens), sections };
}

/** The address of a link inside the manual; what is no page of it is named by its place on the box. */
function linked(document: string, href: string, text: string): string {
  if (/^[a-z]+:/.test(href)) return `<a href="${escaped(href)}" rel="noreferrer">${text}</a>`;
  const [path = "", anchor] = href.split("#");
  const hash = anchor === undefined ? "" : `#${anchor}`;
  if (path === "") return `<a href="${escaped(hash)}">${text}</a>`;
  const target = join(dirname(document), path);
  if (documents().includes(target))
    return `<a href="${nameOf(target)}.html${escaped(hash)}">${text}</a>`;
  const packaged = packagedDocuments(".").find(({ from }) => `${from}/`.startsWith(`${target}/`));
  if (packaged === undefined || !existsSync(target))
    throw new Error(`${document}: ${href} is neither in the manual nor in the package`);
  const place = packaged.to.slice(0, packaged.to.length - packaged.from.length + target.length);
  return `${text} (<code>/${escaped(place)}</code>)`;
}

/** Makes the same names from headings as where the documents are read as Markdown. */
function anchorMaker(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return before === 0 ? name : `${name}-${before}`;
  };
}

/** What a reader sees of it, in one line. */
function plain(marked: Marked, tokens: Token[]): string {
  const entities: Readonly<Record<string, string>> = {
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    "#39": "'",
  };
  return marked
    .parser(tokens)
    .replace(/<\/(td|th|li|p|h\d|tr)>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => entities[name] ?? "")
    .replace(/\s+/g, " ")
    .trim();
}

interface Page {
  readonly title: string;
  readonly html: string;
  readonly chapters: ReadonlyMap<string, Chapter>;
  readonly version: string;
}

function pageOf({ title, html, chapters, version }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} – Gateside ${escaped(version)} manual</title>
<link rel="icon" href="../favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="manual.css">
<script type="module" src="search.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="brand" href="./">Gateside ${escaped(version)} manual</a>
<form role="search" action="./" hidden><label for="q">Search</label> <input id="q" name="q" type="search" autocomplete="off"></form>
<nav class="places" aria-label="Places">
<a href="../#/">Machines</a>
<a href="../#/sensors">Sensors</a>
<a href="../#/alarms">Alarms</a>
<a href="../#/log" data-all hidden>Log</a>
<a href="../#/setup" data-all hidden>Set-up</a>
<a href="./" aria-current="page">Manual</a>
</nav>
</header>
<section id="found" aria-label="Search results" hidden></section>
<div class="columns">
<nav aria-label="Chapters">
${listOf(chapters, title)}</nav>
<main id="content" tabindex="-1">
${html}</main>
</div>
</body>
</html>
`;
}

function listOf(chapters: ReadonlyMap<string, Chapter>, current: string): string {
  const item = (name: string) => {
    const chapter = chapters.get(name);
    if (chapter === undefined) throw new Error(`the manual has no page ${name}`);
    const mark = chapter.title === current ? ' aria-current="page"' : "";
    return `<li><a href="${name}.html"${mark}>${escaped(chapter.title)}</a></li>\n`;
  };
  return Object.entries(GROUPS)
    .map(([group, names]) => `<h2>${escaped(group)}</h2>\n<ul>\n${names.map(item).join("")}</ul>\n`)
    .join("");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
