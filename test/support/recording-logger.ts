import type { Logger } from "../../src/core/ports.ts";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: object;
  readonly message: string;
}

/** Keeps every line, so that tests can say what an operator would have read. */
export class RecordingLogger implements Logger {
  readonly lines: LogLine[] = [];
  debug(fields: object, message: string): void {
    this.lines.push({ level: "debug", fields, message });
  }
  info(fields: object, message: string): void {
    this.lines.push({ level: "info", fields, message });
  }
  warn(fields: object, message: string): void {
    this.lines.push({ level: "warn", fields, message });
  }
  error(fields: object, message: string): void {
    this.lines.push({ level: "error", fields, message });
  }
  /** All lines as one text. */
  get text(): string {
    return this.lines.map((line) => JSON.stringify(line)).join("\n");
  }
}
