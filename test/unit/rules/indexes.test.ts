import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrations } from '../../../src/store/migrations/index.ts'
import { root } from '../../../testkit/source-text.ts'

type Indexes = Record<string, string>
const script = pathToFileURL(path.join(root, 'scripts/indexes.mjs')).href
const { indexesOf } = (await import(script)) as { indexesOf: (root: string) => Promise<Indexes> }

/** Names of the migrations that stores out there have run. */
const released = [
  'first',
  'access',
  'usage',
  'alerts',
  'database-ports',
  'job runs',
  'journal heads',
  'backups',
  'test notices',
  'console sessions',
  'invitations',
  'standard terms',
]

describe('the generated indexes', () => {
  it('are current (npm run build writes them)', async () => {
    const indexes = await indexesOf(root)
    expect(Object.keys(indexes)).toHaveLength(5)
    for (const [file, text] of Object.entries(indexes)) {
      expect(await readFile(path.join(root, file), 'utf8'), file).toBe(text)
    }
  })
})

it('released migrations keep their order, because a store counts them', () => {
  expect(migrations.map(({ name }) => name).slice(0, released.length)).toEqual(released)
})

describe('a new file', () => {
  let copy: string
  beforeAll(async () => {
    copy = await mkdtemp(path.join(tmpdir(), 'longshore-indexes-'))
    for (const folder of ['src/contract', 'src/operations', 'src/store/migrations', 'tools']) {
      await cp(path.join(root, folder), path.join(copy, folder), { recursive: true })
    }
  })
  afterAll(() => rm(copy, { recursive: true, force: true }))

  it('of the contract is found, and a new type comes after the known ones', async () => {
    const row = "export const listBoats = operation({\n  id: 'list-boats',\n})\n"
    await writeFile(path.join(copy, 'src/contract/boats.ts'), row)
    const index = (await indexesOf(copy))['src/contract/index.ts']!
    expect(index).toContain("import * as boats from './boats.ts'\n")
    expect(index).toMatch(/ {2}boats\.listBoats,\n\]\n$/)
  })

  it('of a handler is found in any folder, and a file without a handler is not', async () => {
    const folder = path.join(copy, 'src/operations/jobs')
    await writeFile(path.join(folder, 'list-boats.ts'), '\nexport default handler(listBoats, run)\n')
    await writeFile(path.join(folder, 'boat-names.ts'), '\nexport const names = []\n')
    const index = (await indexesOf(copy))['src/operations/index.ts']!
    expect(index).toContain("import listBoats from './jobs/list-boats.ts'\n")
    expect(index).not.toContain('boat-names')
  })

  it('of a tool is found by the id of its operation, and refused under another name', async () => {
    await writeFile(path.join(copy, 'tools/list-boats.ts'), '')
    expect((await indexesOf(copy))['tools/index.ts']).toMatch(/ {2}listBoats,\n\]\n$/)
    await writeFile(path.join(copy, 'tools/list-ships.ts'), '')
    await expect(indexesOf(copy)).rejects.toThrow('tools/list-ships.ts is named after no operation')
  })
})
