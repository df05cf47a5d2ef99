/** Machine zone of a vibration reading: the worst of its axes (signal-definitions section 8); null if none is known. */
export function readingZone(values: Readonly<Record<string, unknown>>): string | null {
  let worst: string | null = null;
  for (const [name, value] of Object.entries(values)) {
    if (!name.endsWith("_zone") || typeof value !== "string") continue;
    if (worst === null || value > worst) worst = value;
  }
  return worst;
}
