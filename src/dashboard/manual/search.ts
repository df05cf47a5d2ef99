/** The search field on every page of the manual: results appear while typing; `?q=` in the address opens with them. */
import { h, replace } from "../dom.ts";
import { excerptOf, findSections, type ManualSection } from "./find.ts";

/** Written by the dashboard for whoever may use them; nobody signs in to the manual. */
const MAY_KEY = "gateside.mayChange";

function showPlaces(): void {
  try {
    if (localStorage.getItem(MAY_KEY) !== "yes") return;
  } catch {
    return; // Storage may be disabled.
  }
  for (const link of document.querySelectorAll<HTMLElement>(".places [data-all]"))
    link.hidden = false;
}

function main(): void {
  showPlaces();
  const form = document.querySelector("form");
  const input = document.querySelector("input");
  const found = document.getElementById("found");
  if (form === null || input === null || found === null) return;
  let sections: Promise<readonly ManualSection[]> | null = null;
  const load = () => {
    sections ??= fetchSections().catch((error: unknown) => {
      // Tried again with the next letter.
      sections = null;
      throw error;
    });
    return sections;
  };
  const show = async (): Promise<void> => {
    const query = input.value.trim();
    if (query === "") {
      found.hidden = true;
      return;
    }
    try {
      const results = findSections(await load(), query);
      if (input.value.trim() === query) list(found, results, query);
    } catch {
      replace(
        found,
        h("p", { role: "status" }, "The search is not available: the box did not respond."),
      );
    }
    found.hidden = false;
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void show();
  });
  input.addEventListener("input", () => void show());
  input.value = new URLSearchParams(location.search).get("q") ?? "";
  void show();
}

async function fetchSections(): Promise<readonly ManualSection[]> {
  const response = await fetch("sections.json");
  if (!response.ok) throw new Error(`status ${response.status}`);
  return await response.json();
}

function list(found: HTMLElement, results: readonly ManualSection[], query: string): void {
  const items = results.map((section) => {
    const { page, title, anchor, heading } = section;
    const name = heading === title ? title : `${title}: ${heading}`;
    return h(
      "li",
      null,
      h("a", { href: `${page}#${anchor}`, click: () => (found.hidden = true) }, name),
      h("p", null, excerptOf(section, query)),
    );
  });
  const count = items.length === 0 ? "Nothing found." : `${items.length} found`;
  replace(found, h("p", { role: "status" }, count), h("ol", null, ...items));
}

main();
