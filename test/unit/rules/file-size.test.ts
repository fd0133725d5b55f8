import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
const mostLines = 300
/** Files that are being split. */
const exempt: string[] = []

function sourcesBelow(dir: string): string[] {
  return readdirSync(path.join(root, dir)).flatMap((name) => {
    const file = `${dir}/${name}`
    if (statSync(path.join(root, file)).isDirectory()) return sourcesBelow(file)
    return /\.(?:tsx?|js|css)$/.test(file) ? [file] : []
  })
}

it(`no source file has more than ${mostLines} lines; lint holds functions to 50`, () => {
  const files = [...sourcesBelow('src'), ...sourcesBelow('tools')]
  expect(files.length).toBeGreaterThan(100)
  const long = files
    .map((file) => ({ file, lines: readFileSync(path.join(root, file), 'utf8').split('\n').length - 1 }))
    .filter(({ file, lines }) => lines > mostLines && !exempt.includes(file))
    .map(({ file, lines }) => `${file} has ${lines} lines`)
  expect(long).toEqual([])
})
