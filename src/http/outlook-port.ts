/** What conditions and reports say of the outlooks of a machine, where there are any. */
export interface OutlookPort {
  /** Of each value; none for a machine that nothing names. */
  valuesOf(machine: number): readonly {
    readonly sensor: string;
    readonly value: string;
    readonly text: string;
    /** Null without a rise that reaches a limit. */
    readonly outlook: { readonly from: string; readonly to: string | null } | null;
  }[];
}
