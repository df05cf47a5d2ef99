export function withOwnPlace(path: string, source: string): string;
export function bundleTests(
  root: string,
  files: readonly string[],
  changes?: readonly object[],
): Promise<{
  readonly directory: string;
  readonly compiled: (file: string) => string;
  readonly imports: Readonly<
    Record<string, { readonly imports: readonly { readonly path: string }[] }>
  >;
}>;
