export const overviewPath = '/console/'

/** The path to return to after sign-in; never another site. */
export function insideConsole(next: string | undefined, origin: string): string {
  if (next === undefined || !URL.canParse(next, origin)) return overviewPath
  const url = new URL(next, origin)
  const inside =
    url.origin === origin &&
    url.pathname.startsWith(overviewPath) &&
    !url.pathname.startsWith('/console/sign-in')
  return inside ? url.pathname + url.search : overviewPath
}
