import type { FastifyInstance } from "fastify";

/** What a path answers to, for requests with another method; empty if nothing is there. Call it before the routes. */
export function knowMethods(app: FastifyInstance): (path: string) => readonly string[] {
  const known: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    if (url.includes("*")) return;
    const pattern = url.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+");
    known.push({ pattern: new RegExp(`^${pattern}$`), methods: [method].flat() });
  });
  return (path) => [
    ...new Set(known.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)),
  ];
}
