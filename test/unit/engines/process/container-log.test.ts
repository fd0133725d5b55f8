import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { mkdir } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ContainerLogReader,
  ContainerLogWriter,
} from '../../../../src/engines/process/supervisor/container-log.ts'

let home = ''
beforeEach(() => {
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-log-'))
})
afterEach(() => {
  expect(openBelow(home)).toEqual([])
  rmSync(home, { recursive: true, force: true })
})

/** Files that this process has open in a folder: one that garbage collection closes is an error of later Node versions. */
function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${fd}`)
      return file.startsWith(folder) ? [file] : []
    } catch {
      return []
    }
  })
}

describe('a container log', () => {
  const readAll = async (reader: ContainerLogReader) => {
    const messages: string[] = []
    for await (const line of reader.read()) messages.push(line.message)
    return messages
  }
  const readOnce = async (dir: string, since: string | null = null) => {
    const reader = new ContainerLogReader(dir, since)
    return readAll(reader).finally(() => reader.close())
  }

  it('is bounded, keeps the newest lines, and a reader misses none across the turn', async () => {
    const dir = path.join(home, 'log')
    await mkdir(dir)
    const writer = new ContainerLogWriter(dir)
    const reader = new ContainerLogReader(dir, null)
    const read: string[] = []
    const filler = 'x'.repeat(8_000)
    for (let number = 0; number < 6_000; number++) {
      writer.write('stdout', [`${number} ${filler}`])
      if (number % 500 === 0) read.push(...(await readAll(reader)))
    }
    read.push(...(await readAll(reader)))
    writer.close()
    await reader.close()
    expect(read.map((line) => Number.parseInt(line, 10))).toEqual(
      Array.from({ length: 6_000 }, (_, at) => at),
    )
    const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(path.join(dir, name)).size, 0)
    expect(bytes).toBeLessThan(33 * 1024 * 1024)
    const late = await readOnce(dir)
    expect(late.at(-1)).toMatch(/^5999 /)
    expect(late.length).toBeLessThan(6_000)
  })

  it('that cannot be turned writes into no other file, and goes on once it can', async () => {
    const dir = path.join(home, 'log')
    await mkdir(dir)
    const writer = new ContainerLogWriter(dir)
    writer.write('stdout', ['before'])
    // A folder in the place of the older file: the rename fails after the current file was closed.
    await mkdir(path.join(dir, 'log.1.jsonl'))
    for (let number = 0; number < 17; number++) writer.write('stdout', ['x'.repeat(1_000_000)])
    const other = openSync(path.join(home, 'other'), 'a')
    writer.write('stdout', ['after'])
    writer.close()
    expect(fstatSync(other).size).toBe(0)
    closeSync(other)
    expect(readFileSync(path.join(dir, 'log.jsonl'), 'utf8')).toContain('"message":"after"')
  })

  it('gives each line a time of its own, and takes `since` of any precision', async () => {
    const dir = path.join(home, 'log')
    await mkdir(dir)
    const writer = new ContainerLogWriter(dir)
    writer.write('stdout', ['a', 'b', 'c'])
    writer.close()
    const stamps: string[] = []
    const reader = new ContainerLogReader(dir, null)
    for await (const line of reader.read()) stamps.push(line.timestamp)
    await reader.close()
    expect(new Set(stamps).size).toBe(3)
    const readSince = (since: string) => readOnce(dir, since)
    expect(await readSince(stamps[1]!)).toEqual(['c'])
    expect(await readSince(`${stamps[0]!.slice(0, -1)}000Z`)).toEqual(['b', 'c'])
    expect(await readSince(new Date(Date.now() - 60_000).toISOString())).toEqual(['a', 'b', 'c'])
  })
})
