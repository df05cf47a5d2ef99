/**
 * Reads an environment file as systemd does, which sets the service's environment from it (`parse_env_file_internal`,
 * src/basic/env-file.c); packaging/gateside.sh reads alike. A `.env` file is read otherwise: environment-lines.ts.
 */
export function parseServiceEnvironment(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  let state: State = "start";
  let [key, value, blanks] = ["", "", 0];
  const push = () => {
    const name = key.trimEnd();
    if (NAME.test(name))
      found[name] = state === "value" && blanks > 0 ? value.slice(0, -blanks) : value;
    [state, key, value, blanks] = ["start", "", "", 0];
  };
  for (const c of text) {
    const isEnd = c === "\n" || c === "\r";
    const isBlank = isEnd || c === " " || c === "\t";
    switch (state) {
      case "start":
        if (c === "#" || c === ";") state = "comment";
        else if (!isBlank) [state, key] = ["key", c];
        break;
      case "comment":
        if (isEnd) state = "start";
        break;
      case "key":
        if (isEnd) state = "start";
        else if (c === "=") state = "before";
        else key += c;
        break;
      case "before":
        if (isEnd) push();
        else if (c in OPENED) state = OPENED[c] ?? state;
        else if (!isBlank) [state, value, blanks] = ["value", value + c, 0];
        break;
      case "value":
        if (isEnd) push();
        else if (c === "\\") [state, blanks] = ["escape", 0];
        else [value, blanks] = [value + c, isBlank ? blanks + 1 : 0];
        break;
      case "escape":
        state = "value";
        if (!isEnd) value += c;
        break;
      case "single":
        if (c === "'") state = "before";
        else value += c;
        break;
      case "double":
        if (c === '"') state = "before";
        else if (c === "\\") state = "double escape";
        else value += c;
        break;
      case "double escape":
        state = "double";
        if (ESCAPED.includes(c)) value += c;
        else if (c !== "\n") value += `\\${c}`;
    }
  }
  if (state !== "start" && state !== "key" && state !== "comment") push();
  return found;
}

type State =
  | "start"
  | "comment"
  | "key"
  | "before"
  | "value"
  | "escape"
  | "single"
  | "double"
  | "double escape";

/** What begins before any character of a value, and after a closing quotation mark. */
const OPENED: Readonly<Record<string, State>> = { "'": "single", '"': "double", "\\": "escape" };
/** Between double quotation marks, what a backslash is taken off. */
const ESCAPED = '"\\`$';
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
