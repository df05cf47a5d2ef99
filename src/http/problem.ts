export interface Problem {
  readonly error: { readonly status: number; readonly message: string };
}

/** The form of every answer that is not what was asked for (the query service has its own). */
export function problem(status: number, message: string): Problem {
  return { error: { status, message } };
}

/** What a refused body's type has to be; Fastify says only that it is refused. */
export function refusalOf(status: number, message: string): string {
  return status === 415 ? "send the body as Content-Type: application/json" : message;
}
