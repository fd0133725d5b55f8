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
  return [...text.matchAll(/(?<![\w.])(?:it|test|describe)((?:\.\w+)*)(?=[(<])/g)].flatMap((match) => {
    const open = afterOptions(text, match.index + match[0].length, match[1] as string)
    return /^\(\s*(['"`])((?:\\[\s\S]|(?!\1)[\s\S])*)\1/.exec(text.slice(open, open + 1_000))?.[2] ?? []
  })
}

/** Where the call with the title opens: `.each<T>([…])` and `.skipIf(…)` are calls before it. */
function afterOptions(text: string, start: number, members: string): number {
  let at = start
  for (let called = members; ; at += called.length) {
    if (text[at] === '<') at = afterBrackets(text, at)
    if (!/\.(?:each|for|skipIf|runIf)$/.test(called)) return at
    at = afterBrackets(text, at)
    called = /^(?:\.\w+)*/.exec(text.slice(at, at + 50))?.[0] ?? ''
  }
}

const closings: Record<string, string> = { '(': ')', '[': ']', '{': '}', '<': '>' }
/** Text that may contain brackets without being code: comments, strings, and regular expressions after an operator. */
const quoted =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=[([{,=:?|&!>]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//y

/** The place after the bracket that closes the one at `start`. */
function afterBrackets(text: string, start: number): number {
  const open: string[] = []
  for (let at = start; at < text.length; at += 1) {
    quoted.lastIndex = at
    const skipped = quoted.exec(text)
    const char = text[at] as string
    if (skipped) at += skipped[0].length - 1
    else if (char in closings && (char !== '<' || open.at(-1) === '<' || at === start)) open.push(char)
    else if (char === closings[open.at(-1) ?? ''] && text[at - 1] !== '=') open.pop()
    if (open.length === 0) return at + 1
  }
  return text.length
}
