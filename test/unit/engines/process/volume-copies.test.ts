import { mkdirSync, mkdtempSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ContainerSpec } from '../../../../src/engines/engine.ts'
import { folderCopies } from '../../../../src/engines/process/volume-copies.ts'
import { mountVolumes } from '../../../../src/engines/process/volumes.ts'
import { checkedTar, eachEntry } from '../../../../src/engines/volume-tar.ts'
import { removeFolder } from '../../../../testkit/remove-folder.ts'

const { signal } = new AbortController()
let dir: string
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'longshore-volumes-'))
})
afterEach(() => removeFolder(dir))

const mount = { volume: 'data', path: '/data' }
const spec = { appEnvId: 'env_1', accountId: 'acc_1', envName: 'one', image: '', mount }
const ofEnvironment = () => path.join(dir, 'env_1')

/** As a restore leaves it that is killed between its two renames. */
function interrupted(): void {
  for (const folder of ['data.old', 'data.next'])
    mkdirSync(path.join(ofEnvironment(), folder), { recursive: true })
  writeFileSync(path.join(ofEnvironment(), 'data.old', 'note'), 'kept')
  writeFileSync(path.join(ofEnvironment(), 'data.next', 'note'), 'restored')
}
const note = () => readFileSync(path.join(ofEnvironment(), 'data', 'note'), 'utf8')

async function tarOf(content: string): Promise<Buffer> {
  const tar = pack()
  tar.entry({ name: './note' }, content)
  tar.finalize()
  return await buffer(tar)
}

describe('a volume whose restore was killed while it replaced the folder', () => {
  it('has its files again after a repetition that fails, and those of one that succeeds', async () => {
    interrupted()
    const damaged = (await tarOf('restored')).subarray(0, 600)
    await expect(folderCopies(dir).load(spec, Readable.from([damaged]), signal)).rejects.toThrow()
    expect(note()).toBe('kept')
    expect(readdirSync(ofEnvironment())).toEqual(['data'])
    await folderCopies(dir).load(spec, Readable.from([await tarOf('restored')]), signal)
    expect(note()).toBe('restored')
    expect(readdirSync(ofEnvironment())).toEqual(['data'])
  })

  it('has them for a container', () => {
    interrupted()
    const root = path.join(dir, 'image', 'root')
    mkdirSync(root, { recursive: true })
    mountVolumes({ appEnvId: 'env_1', mounts: [mount] } as unknown as ContainerSpec, root, dir)
    expect(readFileSync(path.join(root, 'data', 'note'), 'utf8')).toBe('kept')
  })

  it('has them for a backup', async () => {
    interrupted()
    const names: string[] = []
    await eachEntry(folderCopies(dir).dump(spec, signal), async ({ name }, content) => {
      names.push(name)
      for await (const _chunk of content);
    })
    expect(names).toEqual(['note'])
    expect(note()).toBe('kept')
  })
})

it('a stop ends a backup of a volume at once', async () => {
  const stop = new AbortController()
  mkdirSync(path.join(ofEnvironment(), 'data'), { recursive: true })
  for (let at = 0; at < 50; at += 1)
    writeFileSync(path.join(ofEnvironment(), 'data', `f${at}`), Buffer.alloc(100_000))
  let files = 0
  const reading = eachEntry(folderCopies(dir).dump(spec, stop.signal), async (_entry, content) => {
    files += 1
    stop.abort(new Error('stopped'))
    for await (const _chunk of content);
  })
  await expect(reading).rejects.toThrow('stopped')
  expect(files).toBe(1)
})

it('a file of two terabytes that holds nothing is refused by its size, before it is read', async () => {
  mkdirSync(path.join(ofEnvironment(), 'data'), { recursive: true })
  const sparse = path.join(ofEnvironment(), 'data', 'sparse')
  writeFileSync(sparse, '')
  truncateSync(sparse, 2e12)
  let bytes = 0
  const copied = async () => {
    for await (const chunk of checkedTar(folderCopies(dir).dump(spec, signal), { mostBytes: 1e12 }))
      bytes += chunk.length
  }
  await expect(copied()).rejects.toThrow('The data is larger than 1000.00 GB')
  expect(bytes).toBe(0)
})
