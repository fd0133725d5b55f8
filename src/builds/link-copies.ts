import path from 'node:path'

export type EntryKind = 'file' | 'directory' | 'link'

/** Takes the place of a link, or of something in a linked folder; `from` null: it was left out. */
export interface LinkCopy {
  to: string
  from: string | null
  kind: 'file' | 'directory'
}

/** Links that lead to links, as in Linux. */
const mostHops = 40

/** The path that a link's target names, from the root; null if it leads out of it. */
export function targetOf(link: string, target: string): string | null {
  if (target.startsWith('/')) return null
  const joined = path.posix.join(path.posix.dirname(link), target)
  return joined === '..' || joined.startsWith('../') ? null : joined
}

/**
 * What takes the place of symbolic links: copies, so that whatever reads the source meets only files and folders. Links
 * to nothing, and to a folder that contains the link, are left out. Pure.
 */
export function* linkCopies(
  paths: ReadonlyMap<string, EntryKind>,
  links: ReadonlyMap<string, string>,
): Generator<LinkCopy> {
  const children = childrenOf(paths)
  const kindOf = (at: string): EntryKind | undefined => (at === '.' ? 'directory' : paths.get(at))

  /** The file or folder at a path, through links; null if there is none. */
  function resolve(start: string): string | null {
    let at = '.'
    const rest = start.split('/').reverse()
    for (let hops = 0; rest.length > 0; ) {
      const part = rest.pop()!
      if (part === '.' || part === '') continue
      if (part === '..') {
        if (at === '.') return null
        at = path.posix.dirname(at)
        continue
      }
      const next = path.posix.join(at, part)
      const target = links.get(next)
      if (target === undefined) at = next
      else if (hops++ < mostHops) rest.push(...target.split('/').reverse())
      else return null
    }
    return kindOf(at) ? at : null
  }

  function* copy(to: string, from: string | null, within: readonly string[]): Generator<LinkCopy> {
    const kind = from === null ? undefined : kindOf(from)
    if (from === null || (kind !== 'file' && kind !== 'directory')) yield { to, from: null, kind: 'file' }
    else if (kind === 'file') yield { to, from, kind }
    else if (from === '.' || `${to}/`.startsWith(`${from}/`) || within.includes(from))
      yield { to, from: null, kind }
    else {
      yield { to, from, kind }
      for (const name of children.get(from) ?? []) {
        const inner = `${from}/${name}`
        yield* copy(`${to}/${name}`, links.has(inner) ? resolve(inner) : inner, [...within, from])
      }
    }
  }

  for (const link of links.keys()) yield* copy(link, resolve(link), [])
}

function childrenOf(paths: ReadonlyMap<string, EntryKind>): ReadonlyMap<string, string[]> {
  const children = new Map<string, string[]>()
  for (const at of paths.keys()) {
    const parent = path.posix.dirname(at)
    const names = children.get(parent)
    if (names) names.push(path.posix.basename(at))
    else children.set(parent, [path.posix.basename(at)])
  }
  return children
}
