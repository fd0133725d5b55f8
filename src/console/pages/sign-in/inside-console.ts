/** The path to return to after sign-in; never another site. */
export function insideConsole(next: string | undefined, origin: string): string {
  const home = '/console/'
  if (next === undefined || !URL.canParse(next, origin)) return home
  const url = new URL(next, origin)
  const inside =
    url.origin === origin && url.pathname.startsWith(home) && !url.pathname.startsWith('/console/sign-in')
  return inside ? url.pathname + url.search : home
}
