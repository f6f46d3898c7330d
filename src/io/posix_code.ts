/** The POSIX name of what went wrong, such as `ENOENT`, on whatever a runtime or a backend threw; an empty string where there is none. */
export function posixCode(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
