/** The moments at which tests that touch the time are run, and the zone of the machine at each. */
export interface Moment {
  readonly name: string;
  /** UTC, ISO 8601. The tests begin a few seconds later and go on for minutes. */
  readonly at: string;
  readonly zone: string;
}

const ZONES = ["UTC", "Asia/Kathmandu", "Pacific/Chatham"] as const;

/** Twelve past: some minutes before midnight in Kathmandu (18:15 UTC) and on the Chatham Islands (10:15 UTC). */
const hours: readonly Moment[] = Array.from({ length: 24 }, (_, hour) => {
  const at = `2026-11-23T${String(hour).padStart(2, "0")}:12:00Z`;
  const isTheirMidnight: Record<number, (typeof ZONES)[number]> = {
    10: "Pacific/Chatham",
    18: "Asia/Kathmandu",
  };
  const zone = isTheirMidnight[hour] ?? ZONES[hour % ZONES.length] ?? "UTC";
  return { name: "Monday", at, zone };
});

const borders: readonly Moment[] = [
  ...ZONES.map((zone) => ({ name: "week begins", at: "2026-11-23T00:00:00Z", zone })),
  { name: "week ends", at: "2026-11-22T23:59:00Z", zone: "UTC" },
  { name: "month ends", at: "2026-11-30T23:55:00Z", zone: "Asia/Kathmandu" },
  { name: "29 February", at: "2028-02-29T12:00:00Z", zone: "Pacific/Chatham" },
  { name: "29 February ends", at: "2028-02-29T23:59:00Z", zone: "UTC" },
  { name: "year ends", at: "2026-12-31T23:59:00Z", zone: "UTC" },
  { name: "year ends", at: "2026-12-31T23:59:00Z", zone: "Pacific/Chatham" },
];

/** Both changes of each zone, on a machine in that zone and on one elsewhere. */
const changes: readonly Moment[] = [
  { name: "Berlin, summer begins", at: "2027-03-28T00:58:00Z", zone: "Europe/Berlin" },
  { name: "Berlin, summer begins", at: "2027-03-28T00:58:00Z", zone: "Asia/Kathmandu" },
  { name: "Berlin, summer ends", at: "2026-10-25T00:58:00Z", zone: "Europe/Berlin" },
  { name: "Berlin, summer ends", at: "2026-10-25T00:58:00Z", zone: "Pacific/Chatham" },
  { name: "Chicago, summer begins", at: "2027-03-14T07:58:00Z", zone: "America/Chicago" },
  { name: "Chicago, summer begins", at: "2027-03-14T07:58:00Z", zone: "UTC" },
  { name: "Chicago, summer ends", at: "2026-11-01T06:58:00Z", zone: "America/Chicago" },
  { name: "Chicago, summer ends", at: "2026-11-01T06:58:00Z", zone: "Asia/Kathmandu" },
];

export const MOMENTS: readonly Moment[] = [...borders, ...changes, ...hours];
