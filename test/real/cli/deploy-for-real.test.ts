import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addressOf, get } from '../../../src/cli/demo/traffic.ts'
import { createClient } from '../../../src/client/client.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { noWindow } from '../../../testkit/platform/deploy.ts'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const entry = path.join(root, 'dist/longshore.js')
let dir: string
let serve: ChildProcess
let env: NodeJS.ProcessEnv
let appEnvId: string
let client: ReturnType<typeof createClient>

beforeAll(async () => {
  if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'], { cwd: root })
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-real-deploy-'))
  const home = path.join(dir, 'home')
  const settings = { LONGSHORE_HOME: home, LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'warn' }
  const ports = { LONGSHORE_PORT: '0', LONGSHORE_GATEWAY_PORT: '0' }
  env = { ...process.env, ...settings }
  serve = spawn(process.execPath, [entry, 'serve'], {
    env: { ...env, ...ports },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(serve.stdout!.setEncoding('utf8'), 'data')) as [string]
  const { api, accountId } = JSON.parse(line)
  const token = (await readFile(path.join(home, 'admin-token'), 'utf8')).trim()
  client = createClient({ url: api, token, surface: 'cli' })
  const app = { name: 'shop', accountId, port: 8080, dockerPreset: 'FUNCTION' }
  const { appId } = await client.call(createApp, { ...app, ...noWindow })
  appEnvId = (await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' })).appEnvId
})

afterAll(async () => {
  // Ends control plane, containers and gateway of this home.
  await once(spawn(process.execPath, [entry, 'stop'], { env, stdio: 'ignore' }), 'exit')
  if (serve.exitCode === null) await once(serve, 'exit')
  await rm(dir, { recursive: true, force: true })
})

async function deploy(...argv: string[]) {
  const child = spawn(process.execPath, [entry, 'deploy', '--env', 'shop-prod', ...argv], { env })
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => Object.assign(said, { out: said.out + text }))
  child.stderr.setEncoding('utf8').on('data', (text: string) => Object.assign(said, { err: said.err + text }))
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...said }
}

it('deploys the sample function, with its settings, and ends when it serves', async () => {
  const { code, out, err } = await deploy(
    '--dir',
    path.join(root, 'examples/hello-function'),
    '--fn-max-scale',
    '4',
  )
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('[3/5] COPY server.js .') })
  const url = /^Deployed shop-prod version 1 in .*: (http:\S+)\n$/.exec(out)?.[1]
  const reply = await get(addressOf(url!), '/', new AbortController().signal)
  expect(reply).toMatchObject({ status: 200, body: { message: 'Hello from Longshore' } })
  const now = await client.call(getAppEnv, { appEnvId })
  expect(now.functionConfig).toMatchObject({ maxScale: 4 })
  // Saved before, in force with this deployment: nothing is left pending.
  expect(now.pendingChanges.hasDeployChanges).toBe(false)
})

it('exits 1 with the reason and the output when the code does not start, and the old version serves', async () => {
  const broken = path.join(dir, 'broken')
  await mkdir(broken)
  const command = 'CMD ["node", "-e", "console.log(\'no database\'); process.exit(3)"]'
  await writeFile(path.join(broken, 'Dockerfile'), `FROM node:20-alpine\n${command}\n`)
  const { code, out, err } = await deploy('--dir', broken, '--json')
  expect(code).toBe(1)
  expect(JSON.parse(out)).toMatchObject({
    ok: false,
    version: 2,
    servingVersion: 1,
    failure: { reason: 'exits-at-once' },
  })
  expect(err).toContain('no database')
})

it('exits 1 with the failed step when the build fails', async () => {
  const failing = path.join(dir, 'failing')
  await mkdir(failing)
  await writeFile(
    path.join(failing, 'Dockerfile'),
    'FROM node:20-alpine\nRUN echo almost && exit 7\nCMD ["node"]\n',
  )
  const { code, out, err } = await deploy('--dir', failing)
  expect(code).toBe(1)
  expect(out).toMatch(/^Failed shop-prod version 3 after .*: build step: .*exit code 7/)
  expect(err).toContain('almost')
  expect(err).toContain('Version 1 still serves.')
})
