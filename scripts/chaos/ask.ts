import { request } from "node:http";
import { join } from "node:path";

/** The agent's response on its local socket, which does not depend on its port; null if there is none in time. */
export function ask(dataDir: string, path: string, limitMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const asked = request({ socketPath: join(dataDir, "gateside.sock"), path }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve(text)).on("error", () => resolve(null));
    });
    asked.setTimeout(limitMs, () => asked.destroy());
    asked.on("error", () => resolve(null)).end();
    asked.on("close", () => resolve(null));
  });
}
