import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
/** A build loads `browser-crypto.ts` in place of a module of Node; tests import `indexes.mjs` by its address. */
const exempt = /^src\/console\/api\/browser-crypto\.ts$|^scripts\/indexes\.mjs$/

function filesBelow(dir: string): string[] {
  return readdirSync(path.join(root, dir)).flatMap((name) => {
    const file = `${dir}/${name}`
    if (statSync(path.join(root, file)).isDirectory()) return filesBelow(file)
    return /\.(?:tsx?|mjs)$/.test(file) ? [file] : []
  })
}

const importClause =
  /(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,?\s*)?(?:\{([^}]*)\}|\*\s+as\s+\w+|\*)?\s*from\s*['"](\.[^'"]+)['"]/g
const wholeModule = /(?:import|require|mock)\(\s*'(\.[^']+)'/g
const exported =
  /^export (?:async )?(?:function\*?|const|class|interface|type|let|enum|abstract class) ([\w$]+)/gm

/** Names that other files import, by file; `*` where a file is imported as a whole. */
function importedNames(texts: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  const add = (from: string, spec: string, name: string) => {
    const target = path.posix.join(path.posix.dirname(from), spec)
    names.set(target, (names.get(target) ?? new Set()).add(name))
  }
  for (const [file, text] of texts) {
    for (const [clause, listed, spec] of text.matchAll(importClause)) {
      if (listed === undefined && clause.includes('*')) add(file, spec!, '*')
      for (const name of (listed ?? '').split(','))
        add(
          file,
          spec!,
          name
            .trim()
            .replace(/^type\s+/, '')
            .split(' as ')[0]!,
        )
    }
    for (const [, spec] of text.matchAll(wholeModule)) add(file, spec!, '*')
  }
  return names
}

const files = [
  ...['src', 'tools', 'test', 'testkit', 'bench', 'evals', 'scripts'].flatMap(filesBelow),
  'build.mjs',
  'build-console.mjs',
]
const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))

/** Exports of the chosen files that `readers` do not import. */
function unread(chosen: readonly string[], readers: ReadonlyMap<string, string>) {
  const imported = importedNames(readers)
  return chosen.flatMap((file) => {
    const names = imported.get(file) ?? new Set()
    if (names.has('*')) return []
    const own = [...texts.get(file)!.matchAll(exported)].map((match) => match[1]!)
    return own.filter((name) => !names.has(name)).map((name) => ({ file, name }))
  })
}

it('exports only what another file imports', () => {
  const chosen = files.filter((file) => !/^test\//.test(file) && !exempt.test(file))
  expect(unread(chosen, texts)).toEqual([])
})

/** Tests make both halves of alerting at once, and look a command up by its operation. */
const forTests = ['createAlerting', 'commandOf']

it('has no code in the sources that only tests use', () => {
  const sources = files.filter((file) => /^(?:src|tools)\//.test(file) && !exempt.test(file))
  const product = new Map([...texts].filter(([file]) => /^(?:src|tools|scripts|build)/.test(file)))
  const uses = (file: string, name: string) =>
    texts
      .get(file)!
      .split(/[^\w$]+/)
      .filter((word) => word === name).length
  const dead = unread(sources, product).filter(({ file, name }) => uses(file, name) === 1)
  expect(dead.map(({ name }) => name).sort()).toEqual([...forTests].sort())
})
