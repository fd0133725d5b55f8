import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fetchGit, type GitSource, repositoryUrl } from '../../../src/builds/fetch-git.ts'
import { unpackArchive } from '../../../src/builds/unpack-archive.ts'
import { systemClock } from '../../../src/clock.ts'
import { GitHost } from '../../../testkit/builds/git-host.ts'

const host = new GitHost()
let baseUrl: string
let workDir: string

beforeAll(async () => {
  baseUrl = await host.start()
})
afterAll(() => host.close())
beforeEach(async () => {
  workDir = await mkdtemp(path.join(os.tmpdir(), 'longshore-fetch-'))
})
afterEach(async () => {
  host.redirectTo = null
  await rm(workDir, { recursive: true, force: true })
})

const signal = new AbortController().signal

function fetch(
  change: Partial<GitSource>,
  limits: { bytes?: number; memory?: number; timeoutMs?: number } = {},
) {
  const source = { baseUrl, namespace: 'team', repo: 'app', branch: 'main', commitId: null, ...change }
  return fetchGit(source, { workDir, clock: systemClock, signal, limits })
}

async function filesOf(archive: string): Promise<Record<string, string>> {
  const into = path.join(workDir, 'out')
  await unpackArchive({ file: archive, extension: '.tgz', into, dockerfile: null, signal })
  const names = (await readdir(into, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  )
  const texts = names.map(async ({ parentPath, name }) => {
    const file = path.join(parentPath, name)
    return [path.relative(into, file), await readFile(file, 'utf8')]
  })
  return Object.fromEntries(await Promise.all(texts))
}

describe('source from a Git host', () => {
  it('brings the head of the branch, without its history, and leaves only the archive', async () => {
    host.commit('team/app', 'main', { 'a.txt': 'first' })
    const head = host.commit('team/app', 'main', { 'a.txt': 'second', 'deep/b.txt': 'b' })
    const fetched = await fetch({})
    expect(fetched.commitId).toBe(head)
    expect(await readdir(workDir)).toEqual(['repository.tgz'])
    expect(await filesOf(fetched.file)).toEqual({ 'a.txt': 'second', 'deep/b.txt': 'b' })
  })

  it('brings one commit again after the branch moved on', async () => {
    const before = host.commit('team/again', 'main', { 'a.txt': 'before' })
    host.commit('team/again', 'main', { 'a.txt': 'after' })
    const fetched = await fetch({ repo: 'again', commitId: before })
    expect(await filesOf(fetched.file)).toEqual({ 'a.txt': 'before' })
  })

  it('refuses a link by the rules of uploads', async () => {
    host.commit('team/linked', 'main', { passwd: '-> /etc/passwd' })
    const fetched = await fetch({ repo: 'linked' })
    await expect(filesOf(fetched.file)).rejects.toMatchObject({ reason: 'bad archive' })
  })

  it('runs no filter that the repository names', async () => {
    host.commit('team/filtered', 'main', { '.gitattributes': '*.txt filter=lfs\n', 'a.txt': 'plain' })
    expect(await filesOf((await fetch({ repo: 'filtered' })).file)).toMatchObject({ 'a.txt': 'plain' })
  })

  it.each([
    ['an unknown branch', { branch: 'nowhere' }, /has no branch nowhere/],
    ['an unknown repository', { repo: 'secret' }, /shows no public repository team\/secret/],
    ['a name that leaves the base', { namespace: '../..' }, /not a valid name of a repository/],
    ['a name that looks like an option', { repo: '--upload-pack=touch' }, /not a valid name of a repository/],
  ])('says what is wrong with %s', async (_what, change, message) => {
    host.commit('team/app', 'main', { 'a.txt': 'a' })
    await expect(fetch(change)).rejects.toMatchObject({
      reason: 'git',
      message: expect.stringMatching(message),
    })
  })

  it('says so where the machine has no git', async () => {
    const { PATH } = process.env
    process.env.PATH = workDir
    try {
      await expect(fetch({})).rejects.toMatchObject({
        message: expect.stringContaining('no git in its PATH'),
      })
    } finally {
      process.env.PATH = PATH
    }
  })

  it.each([
    ['SEGV', 'nested too deeply'],
    ['KILL', 'ended git (SIGKILL)'],
  ])('says why where git ends by SIG%s', async (name, message) => {
    const { PATH } = process.env
    await writeFile(path.join(workDir, 'git'), `#!/bin/sh\nkill -${name} $$\n`, { mode: 0o755 })
    process.env.PATH = workDir
    try {
      await expect(fetch({})).rejects.toMatchObject({ message: expect.stringContaining(message) })
    } finally {
      process.env.PATH = PATH
    }
  })

  it('follows no redirect', async () => {
    host.commit('team/moved', 'main', { 'a.txt': 'a' })
    const other = new GitHost()
    host.redirectTo = await other.start()
    await expect(fetch({ repo: 'moved' })).rejects.toMatchObject({ reason: 'git' })
    expect(other.requests).toEqual([])
    await other.close()
  })

  it('ends an archive that grows out of a small repository', async () => {
    host.commit('team/bomb', 'main', { seed: randomBytes(40_000).toString('base64') })
    host.repeat('team/bomb', 'main', { times: 10, levels: 5 })
    await expect(fetch({ repo: 'bomb' }, { bytes: 4 * 1024 ** 2 })).rejects.toMatchObject({
      reason: 'git',
      message: expect.stringContaining('larger than 4 MiB'),
    })
    expect(await readdir(workDir)).toEqual(['repository.tgz'])
  })

  it('ends a file that takes more memory than git may have', async () => {
    host.commit('team/large', 'main', { zeros: '0'.repeat(30 * 1024 ** 2) })
    await expect(fetch({ repo: 'large' }, { memory: 16 * 1024 ** 2 })).rejects.toMatchObject({
      reason: 'git',
      message: expect.stringContaining('too much memory'),
    })
    expect((await fetch({ repo: 'large' })).commitId).toMatch(/^[0-9a-f]{40}$/)
  })

  it('is ended by its time limit and by its caller', async () => {
    await expect(fetch({}, { timeoutMs: 1 })).rejects.toMatchObject({
      reason: 'git',
      message: expect.stringContaining('within'),
    })
    const controller = new AbortController()
    const source = { baseUrl, namespace: 'team', repo: 'app', branch: 'main', commitId: null }
    const fetching = fetchGit(source, { workDir, clock: systemClock, signal: controller.signal })
    controller.abort(new Error('told to stop'))
    await expect(fetching).rejects.toThrow('told to stop')
  })

  it('makes one address of base, owner and repository', () => {
    const url = (namespace: string, repo: string) =>
      repositoryUrl({ baseUrl: 'https://git.example.com/x/', namespace, repo }).href
    expect(url('team', 'app')).toBe('https://git.example.com/x/team/app.git')
    expect(url('group/sub', 'app.git')).toBe('https://git.example.com/x/group/sub/app.git')
    for (const bad of ['a b', '.hidden', 'a?b', 'a@b', 'a%2e', '-a']) expect(() => url(bad, 'app')).toThrow()
  })
})
