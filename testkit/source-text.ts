import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const root = path.resolve(import.meta.dirname, '..')

const folders = [
  'src',
  'tools',
  'test',
  'bench',
  'evals',
  'docs',
  'examples',
  'scripts',
  'testkit',
  'deploy',
  '.ci',
]
const left = /(?:^|\/)(?:node_modules|dist)(?:\/|$)/

/** Text files of the repository that people read, by path from its root. `endings` such as `.ts`. */
export function filesEndingWith(...endings: string[]): Map<string, string> {
  const below = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    ),
  )
  const names = [...readdirSync(root), ...below].filter(
    (name) => endings.some((ending) => name.endsWith(ending)) && !left.test(name),
  )
  return new Map(names.map((name) => [name, readFileSync(path.join(root, name), 'utf8')]))
}

/** The comments of a source file, one after the other. Good enough for prose: a `//` in a string counts too. */
export function commentsOf(text: string): string {
  return (text.match(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*/g) ?? []).join('\n')
}

/** Titles of the tests of a file, as they stand in its source. */
export function titlesOf(text: string): string[] {
  const calls = /\b(?:it|test|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*(['"`])([\s\S]*?)\1/g
  return [...text.matchAll(calls)].map((match) => match[2] as string)
}
