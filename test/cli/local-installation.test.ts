import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findLocalInstallation, readAdminToken, resolveConnection } from '../../src/cli/local-installation.ts'
import { readConfig } from '../../src/config.ts'

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

it('finds the installation that runs on a home, with its token', async () => {
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
    message: 'No Longshore is running here',
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
