export interface Problem {
  readonly error: { readonly status: number; readonly message: string };
}

/** The form of every answer that is not what was asked for (the query service has its own). */
export function problem(status: number, message: string): Problem {
  return { error: { status, message } };
}
