import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  findLocalInstallation,
  readAdminToken,
  resolveConnection,
} from '../../../src/cli/local/installation.ts'
import { readConfig } from '../../../src/config/config.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), 'longshore-home-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true })
})

async function serving(content: unknown) {
  await mkdir(path.join(home, 'run'), { recursive: true })
  await writeFile(
    path.join(home, 'run/serve.json'),
    typeof content === 'string' ? content : JSON.stringify(content),
  )
}
const config = (env: Record<string, string> = {}) => readConfig({ LONGSHORE_HOME: home, ...env })
const running = {
  pid: process.pid,
  api: 'http://127.0.0.1:4400/api/public/v1',
  mcp: 'm',
  gateway: 'g',
  more: 1,
}

it('finds the installation that runs on a data directory, with its token', async () => {
  await serving(running)
  await writeFile(path.join(home, 'admin-token'), 'lsu_abc\n')
  expect(await findLocalInstallation(home)).toEqual({
    pid: process.pid,
    url: running.api,
    mcp: 'm',
    gateway: 'g',
  })
  expect(await resolveConnection(config())).toEqual({ url: running.api, token: 'lsu_abc' })
})

it('finds none where nothing was started, where it has ended, or where the file is half written', async () => {
  expect(await findLocalInstallation(home)).toBeNull()
  expect(await readAdminToken(home)).toBeNull()
  const child = spawn(process.execPath, ['-e', '0'])
  await once(child, 'exit')
  await serving({ ...running, pid: child.pid })
  expect(await findLocalInstallation(home)).toBeNull()
  for (const text of ['{"pid": 1', 'null', '[]', '{"pid":"1","api":"x"}']) {
    await serving(text)
    expect(await findLocalInstallation(home)).toBeNull()
  }
  await expect(resolveConnection(config())).rejects.toMatchObject({
    message: 'Longshore is not running here',
    details: expect.stringContaining('npm start'),
  })
})

it('prefers the given token, then LONGSHORE_TOKEN, then the local file', async () => {
  await serving(running)
  await expect(resolveConnection(config())).rejects.toMatchObject({ kind: 'unauthenticated' })
  await writeFile(path.join(home, 'admin-token'), 'lsu_file')
  const env = { LONGSHORE_TOKEN: 'lsu_env' }
  expect(await resolveConnection(config(env), 'lsu_flag')).toMatchObject({ token: 'lsu_flag' })
  expect(await resolveConnection(config(env))).toMatchObject({ token: 'lsu_env' })
  expect(await resolveConnection(config())).toMatchObject({ token: 'lsu_file' })
})

it('never sends the local token to the platform of LONGSHORE_URL', async () => {
  await serving(running)
  await writeFile(path.join(home, 'admin-token'), 'lsu_file')
  const env = { LONGSHORE_URL: 'https://ship.example.com/' }
  await expect(resolveConnection(config(env))).rejects.toMatchObject({ kind: 'unauthenticated' })
  expect(await resolveConnection(config(env), 't')).toEqual({ url: 'https://ship.example.com', token: 't' })
})

it('finds none by a number that another process has by now, nor the original of a copied data directory', async () => {
  await serving({ ...running, started: '1' })
  expect(await findLocalInstallation(home)).toBeNull()
  await serving({ ...running, home: os.tmpdir() })
  expect(await findLocalInstallation(home)).toBeNull()
  // Its own data directory, and one that was moved while it was served.
  for (const own of [home, path.join(home, 'moved-away')]) {
    await serving({ ...running, home: own })
    expect(await findLocalInstallation(home)).toMatchObject({ pid: process.pid })
  }
})

it('names the setting that was probably meant, and what a setting may be', () => {
  const details = (env: Record<string, string>) => {
    try {
      return config(env) && ''
    } catch (error) {
      return (error as { details: string }).details
    }
  }
  expect(details({ LONGSHORE_PROT: '1' })).toContain('did you mean LONGSHORE_PORT?')
  expect(details({ LONGSHORE_SOMETHING: '1' })).toBe(
    'LONGSHORE_SOMETHING is not a setting of Longshore: unset it (README lists the settings)',
  )
  for (const port of ['x', '99999', '-1', '1.5']) {
    expect(details({ LONGSHORE_PORT: port })).toBe(
      'LONGSHORE_PORT: must be a port number from 0 to 65535 (0 picks a free one)',
    )
  }
  expect(details({ LONGSHORE_PUBLIC_URL: 'https://u:p@ship.example.com' })).toContain(
    'LONGSHORE_PUBLIC_URL: ',
  )
  expect(config({ LONGSHORE_PUBLIC_URL: 'https://ship.example.com/' }).publicUrl).toBe(
    'https://ship.example.com',
  )
  expect(details({ LONGSHORE_ENGINE: 'podman' })).toBe(
    'LONGSHORE_ENGINE: must be auto, process, docker or kubernetes',
  )
})
