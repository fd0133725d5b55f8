import { execFile } from 'node:child_process'
import { appendFile, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { root } from '../../../testkit/source-text.ts'

const run = promisify(execFile)

interface Block {
  how: 'file' | 'append' | 'row'
  target: string
  code: string
}

const script = pathToFileURL(path.join(root, 'scripts/indexes.mjs')).href
const { writeIndexes } = (await import(script)) as { writeIndexes: (root: string) => Promise<void> }

/** Code that says where it belongs: ```ts file=PATH is a new file, append=PATH the end of one, row=PATH a new row. */
async function exampleBlocks(heading: string): Promise<Block[]> {
  const text = await readFile(path.join(root, 'CONTRIBUTING.md'), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  return [...section.matchAll(/^```ts (file|append|row)=(\S+)\n([\s\S]*?)^```/gm)].map(
    ([, how, target = '', code = '']) => ({ how: how as Block['how'], target, code }),
  )
}

async function apply({ how, target, code }: Block): Promise<void> {
  const file = path.join(copy, target)
  if (how === 'append') return appendFile(file, `\n${code}`)
  if (how === 'file') return writeFile(file, code, { flag: 'wx' })
  const text = await readFile(file, 'utf8')
  const [, imports = '', row = ''] = /^((?:import .*\n)*)([\s\S]*)$/.exec(code) ?? []
  const marker = '  // New rows go above this line.'
  expect(text).toContain(marker)
  await writeFile(file, imports + text.replace(marker, row + marker))
}

/** What the compiler says of these files of the copy. */
async function compile(files: string[]): Promise<string> {
  const { compilerOptions } = JSON.parse(await readFile(path.join(root, 'tsconfig.json'), 'utf8'))
  await writeFile(path.join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = path.join(root, 'node_modules/.bin/tsc')
  return run(tsc, ['--project', copy], { cwd: copy }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout: string }) => error.stdout || error.message,
  )
}

const indexes = ['src/contract/index.ts', 'src/operations/index.ts', 'tools/index.ts']

let copy: string
beforeAll(async () => {
  copy = await mkdtemp(path.join(tmpdir(), 'longshore-contributing-'))
  for (const name of ['src', 'tools', 'test', 'testkit', 'package.json']) {
    await cp(path.join(root, name), path.join(copy, name), { recursive: true })
  }
  await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'))
})
afterAll(() => rm(copy, { recursive: true, force: true }))

it('the operation of CONTRIBUTING.md takes four files and compiles; the indexes find them', async () => {
  const blocks = await exampleBlocks('Add an operation')
  expect(blocks.map(({ how, target }) => `${how} ${target}`)).toEqual([
    'append src/contract/contact-points.ts',
    'file src/operations/alerts/rename-contact-point.ts',
    'file tools/rename-contact-point.ts',
    'file test/platform/operations/rename-contact-point.test.ts',
  ])
  for (const block of blocks) await apply(block)
  await writeIndexes(copy)
  for (const index of indexes) {
    expect(await readFile(path.join(copy, index), 'utf8'), index).toMatch(
      /^ {2}(?:\w+\.)?renameContactPoint,$/m,
    )
  }
  expect(await compile([...indexes, ...blocks.map(({ target }) => target)])).toBe('')
}, 120_000)

it('the object type of CONTRIBUTING.md takes its row and its own files and compiles; half a row does not', async () => {
  const blocks = await exampleBlocks('Add an object type')
  const [facts, loader, ...own] = blocks as [Block, Block, ...Block[]]
  expect([facts.target, loader.target]).toEqual([
    'src/contract/resources.ts',
    'src/operations/core/resources.ts',
  ])
  expect(own.map(({ how }) => how)).toEqual(own.map(() => 'file'))
  await apply(facts)
  expect(await compile([loader.target])).toContain("'note' is missing")
  for (const block of [loader, ...own]) await apply(block)
  await writeIndexes(copy)
  const checked = [...indexes, 'src/store/migrations/index.ts', 'src/operations/core/runner.ts']
  expect(await compile([...checked, ...blocks.map(({ target }) => target)])).toBe('')
}, 120_000)
