import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contextOrigin } from '../../../../src/engines/process/build/context-files.ts'
import { copyIntoImage } from '../../../../src/engines/process/build/copy.ts'
import { ImagePaths } from '../../../../src/engines/process/image-paths.ts'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-copy-'))
  await mkdir(path.join(dir, 'context'))
  await mkdir(path.join(dir, 'image'))
  const names = Array.from({ length: 1_000 }, (_, index) => `f${index}`)
  await Promise.all(names.map((name) => writeFile(path.join(dir, 'context', name), name)))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** As many sources as a Dockerfile has room for, and each matches every file. */
const sources = Array.from(
  { length: 5_000 },
  (_, index) => `${'*'.repeat(index % 70)}?${'*'.repeat(1 + index / 70)}`,
)

async function copy(of: readonly string[], signal: AbortSignal): Promise<void> {
  await copyIntoImage({
    origin: await contextOrigin(path.join(dir, 'context'), 'Dockerfile'),
    sources: of,
    destination: '/to/',
    paths: new ImagePaths(path.join(dir, 'image'), null),
    mode: null,
    where: 'Dockerfile line 2: COPY',
    signal,
  })
}

it('a COPY of thousands of patterns stops when its build does, and keeps no second list of the same files', async () => {
  const controller = new AbortController()
  const before = process.memoryUsage().heapUsed
  const copying = copy(sources, controller.signal)
  setTimeout(() => controller.abort(new Error('stopped')), 300)
  await expect(copying).rejects.toThrow('stopped')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(150e6)
}, 20_000)

it('a file that several sources match is copied once, and more files than are held at a time all arrive', async () => {
  await copy(['f*', '*', 'f1', '[f]1'], new AbortController().signal)
  expect(await readdir(path.join(dir, 'image', 'to'))).toHaveLength(1_000)
})
