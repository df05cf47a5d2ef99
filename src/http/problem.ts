export interface Problem {
  readonly error: { readonly status: number; readonly message: string };
}

/** The form of every error response (the query service has its own). */
export function problem(status: number, message: string): Problem {
  return { error: { status, message } };
}

/** The required content type; Fastify only says that another one is refused. */
export function refusalOf(status: number, message: string): string {
  return status === 415 ? "send the body as Content-Type: application/json" : message;
}
