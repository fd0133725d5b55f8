import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackArchive } from '../../../src/builds/unpack-archive.ts'
import type { CommandIo } from '../../../src/cli/command-io.ts'
import { runCli } from '../../../src/server/run-cli.ts'
import {
  type Script,
  type ScriptedPlatform,
  startScriptedPlatform,
} from '../../../testkit/cli/scripted-platform.ts'

let dir: string
let app: string
let platform: ScriptedPlatform | null = null

beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-deploy-test-'))
  app = path.join(dir, 'app')
  await mkdir(app)
  await writeFile(path.join(app, 'Dockerfile'), 'FROM node:20-alpine\n')
  await writeFile(path.join(app, 'server.js'), 'hello')
})
afterEach(async () => {
  await platform?.close()
  platform = null
  await rm(dir, { recursive: true, force: true })
})

interface Outcome {
  code: number
  out: string
  err: string
}

async function run(argv: string[], script: Script = {}, env: Record<string, string> = {}): Promise<Outcome> {
  platform ??= await startScriptedPlatform(script)
  return runAgainst(argv, { LONGSHORE_URL: platform.url, LONGSHORE_TOKEN: 'lsu_env', ...env })
}

async function runAgainst(
  argv: string[],
  env: Record<string, string>,
  interrupt?: (stop: () => void) => void,
) {
  const said = { out: '', err: '' }
  const io: CommandIo = {
    stdout: { write: (text) => void Object.assign(said, { out: said.out + text }) },
    stderr: { write: (text) => void Object.assign(said, { err: said.err + text }) },
    onInterrupt(callback) {
      interrupt?.(callback)
      return () => {}
    },
  }
  return {
    code: await runCli(['deploy', ...argv], { LONGSHORE_HOME: path.join(dir, 'home'), ...env }, io),
    ...said,
  }
}

const calls = () => platform!.heard.map((heard) => heard.call)
const last = (call: string) => platform!.heard.filter((heard) => heard.call === call).at(-1)

describe('deploy from source', () => {
  const building: Script = {
    statuses: [
      { status: 'PENDING', deployment: 'BUILDING' },
      { status: 'PENDING', deployment: 'BUILDING' },
      { status: 'PENDING', deployment: 'DEPLOYING' },
      { status: 'RUNNING', deployment: 'DEPLOYED' },
    ],
    buildLog: ['Unpacked 2 files', 'Step 1/2', 'Step 2/2 \u001b[31mred', 'Built'],
  }

  it('packs, uploads, builds and ends when the version serves', async () => {
    const { code, out, err } = await run(['--env', 'shop-prod', '--dir', app], building)
    expect(code).toBe(0)
    expect(out).toMatch(
      /^Deployed shop-prod version 3 in [\d.]+ m?s: http:\/\/shop-prod\.fn\.localhost:4480\n$/,
    )
    for (const text of ['Packed 2 files', 'Uploaded', '100 %', 'Built version 3', 'Version 3 serves']) {
      expect(err).toContain(text)
    }
    expect(err.match(/Step 1\/2/g)).toHaveLength(1)
    expect(err).toContain('Step 2/2 red')
    expect(err).not.toContain('\u001b')
    expect(calls().filter((call) => call.startsWith('P'))).toEqual([
      'POST /app-env/request-storage-key',
      'POST /app-env/notify-upload',
    ])
    expect(last('POST /app-env/notify-upload')).toMatchObject({
      body: { appEnvId: 'env_1', storageKey: 'upl_1' },
      token: 'lsu_env',
      surface: 'cli',
    })
    expect(last('GET /app-env')!.query).toEqual({ envName: 'shop-prod' })
  })

  it('uploads an archive that the platform can unpack', async () => {
    await run(['--env', 'env_1', '--dir', app, '--user-token', 'lsu_flag'])
    const file = path.join(dir, 'got.tgz')
    await writeFile(file, platform!.uploads[0]!)
    const into = path.join(dir, 'got')
    const { signal } = new AbortController()
    expect(await unpackArchive({ file, extension: '.tgz', into, signal })).toMatchObject({ files: 2 })
    expect(last('GET /app-env')).toMatchObject({ query: { appEnvId: 'env_1' }, token: 'lsu_flag' })
  })

  it('F6 refuses a folder without a Dockerfile before anything is uploaded', async () => {
    await rm(path.join(app, 'Dockerfile'))
    const { code, err } = await run(['--env', 'shop-prod', '--dir', app])
    expect(code).toBe(1)
    expect(err).toContain('(F6)')
    expect(err).toContain('FROM node:22-alpine')
    expect(platform!.uploads).toEqual([])
    expect(calls()).not.toContain('POST /app-env/request-storage-key')
  })

  it('needs no Dockerfile in the source if the preset includes one, and uses the path of the app', async () => {
    await rm(path.join(app, 'Dockerfile'))
    expect(
      (await run(['--env', 'e', '--dir', app], { app: { customDockerfileContent: 'FROM x' } })).code,
    ).toBe(0)
    await platform!.close()
    platform = null
    const elsewhere = { app: { contextDir: 'web', dockerfilePath: 'D' } }
    const { err } = await run(['--env', 'e', '--dir', app], elsewhere)
    expect(err).toContain('There is no web/D in')
  })

  it("exits 1 with the reason and the container's output when the deployment fails", async () => {
    const { code, out, err } = await run(['--env', 'shop-prod', '--dir', app], {
      statuses: [
        { status: 'UPDATING', deployment: 'DEPLOYING' },
        {
          status: 'RUNNING',
          deployment: 'FAILED',
          failure: { reason: 'exited', message: 'It ended with code 3. get-logs shows its output.' },
        },
      ],
      runtimeLog: ['cannot start: no database'],
    })
    expect(code).toBe(1)
    expect(out).toMatch(
      /^Failed shop-prod version 3 after .*: exited: It ended with code 3\. longshore logs shop-prod shows its output\.\n$/,
    )
    expect(err).toContain('cannot start: no database')
    expect(err).toContain(
      'Version 2 still serves. longshore why shop-prod shows the cause and the next step.',
    )
  })

  it('a deployed job is ready for runs, and serves nothing', async () => {
    const script = { isFunction: false, isJob: true }
    const { code, out, err } = await run(['--env', 'shop-prod', '--dir', app], script)
    expect(code).toBe(0)
    expect(err).toContain('Version 3 is ready for runs')
    expect(err).toContain('Start a run: longshore jobs run shop-prod')
    expect(`${out}${err}`).not.toMatch(/serves|curl/)
  })

  it('exits 1 when another deployment replaced it', async () => {
    const { code, out } = await run(['--env', 'shop-prod', '--dir', app], {
      statuses: [{ status: 'UPDATING', deployment: 'BUILDING', contentId: 'dep_9' }],
    })
    expect(code).toBe(1)
    expect(out).toContain('superseded: Version 4 replaced it')
  })

  it('passes on the message of a rejected upload', async () => {
    const refusal = { status: 413, body: { error: 'Upload too large', details: 'At most 512 MiB.' } }
    const { code, err } = await run(['--env', 'e', '--dir', app], { refuse: { 'PUT /uploads': refusal } })
    expect(code).toBe(1)
    expect(err).toContain('Error: Upload too large.\nAt most 512 MiB.')
    expect(calls()).not.toContain('POST /app-env/notify-upload')
  })
})

describe('deploy of an image', () => {
  it('sends the reference', async () => {
    const { code } = await run(['--env', 'e', '--image', 'registry.example.com/team/app:1.2'])
    expect(code).toBe(0)
    expect(last('POST /app-env/deploy-image')!.body).toEqual({
      appEnvId: 'env_1',
      image: 'registry.example.com/team/app:1.2',
    })
    expect(platform!.uploads).toEqual([])
  })
})

describe('function settings', () => {
  const flags = ['--fn-container-concurrency', '10', '--fn-timeout', '30', '--fn-idle-timeout', '300']
  const scale = ['--fn-min-scale', '0', '--fn-max-scale', '5']

  it('are checked with a dry run, then saved but not applied, then the deployment begins', async () => {
    const { code } = await run(['--env', 'e', '--image', 'app:1', ...flags, ...scale])
    expect(code).toBe(0)
    const config = platform!.heard.filter((heard) => heard.call === 'PATCH /app-env/function-config')
    expect(config.map((heard) => heard.dryRun)).toEqual([true, false])
    expect(config[1]!.body).toEqual({
      appEnvId: 'env_1',
      containerConcurrency: 10,
      timeoutSeconds: 30,
      idleTimeoutSeconds: 300,
      minScale: 0,
      maxScale: 5,
    })
    const order = calls()
    expect(order.lastIndexOf('PATCH /app-env/function-config')).toBeLessThan(
      order.indexOf('POST /app-env/deploy-image'),
    )
  })

  it("E3 X3 on an app of another preset are rejected with the platform's message, before any change", async () => {
    const body = { error: 'Only FUNCTION apps have function settings', details: 'Use X.', rule: 'E3' }
    const refusal = { status: 400, body, dryRunOnly: true }
    const { code, err } = await run(['--env', 'e', '--dir', app, ...scale], {
      isFunction: false,
      refuse: { 'PATCH /app-env/function-config': refusal },
    })
    expect(code).toBe(1)
    expect(err).toContain('Only FUNCTION apps have function settings (E3).\nUse X.')
    expect(platform!.uploads).toEqual([])
  })
})

describe('wrong calls', () => {
  it.each<[string, string[], string]>([
    ['no environment', ['--dir', '.'], '--env'],
    ['no source', ['--env', 'e'], 'give --dir'],
    ['two sources', ['--env', 'e', '--dir', '.', '--image', 'a'], 'use either --dir or --image, not both'],
    ['an unknown flag', ['--env', 'e', '--dir', '.', '--force'], '--force'],
    ['an extra word', ['--env', 'e', '--dir', '.', 'more'], 'too many arguments'],
    [
      'a number that is none',
      ['--env', 'e', '--dir', '.', '--fn-max-scale', '3x'],
      '--fn-max-scale must be a whole',
    ],
    [
      'a negative number',
      ['--env', 'e', '--dir', '.', '--fn-min-scale=-1'],
      '--fn-min-scale must be a whole',
    ],
    ['too short an idle time', ['--env', 'e', '--dir', '.', '--fn-idle-timeout', '299'], 'at least 300'],
    ['min above max', ['--env', 'e', '--dir', '.', '--fn-min-scale', '3', '--fn-max-scale', '2'], 'is above'],
    ['a bad image', ['--env', 'e', '--image', '--privileged'], '--image'],
    ['an image with blanks', ['--env', 'e', '--image', 'a b'], 'container image reference'],
  ])('%s gives exit code 2', async (_what, argv, text) => {
    const { code, err, out } = await runAgainst(argv, {})
    expect(code).toBe(2)
    expect(err).toContain(text)
    expect(out).toBe('')
  })

  it('shows help on standard output with exit code 0', async () => {
    const { code, out } = await runAgainst(['--help'], {})
    expect(code).toBe(0)
    for (const flag of [
      '--user-token',
      '--env',
      '--dir',
      '--image',
      '--fn-container-concurrency',
      '--fn-timeout',
    ]) {
      expect(out).toContain(flag)
    }
    for (const flag of ['--fn-idle-timeout', '--fn-min-scale', '--fn-max-scale']) expect(out).toContain(flag)
  })

  it('reports that no platform is running, and that one is unreachable', async () => {
    const nobody = await runAgainst(['--env', 'e', '--dir', app], {})
    expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining('Longshore is not running here') })
    const away = { LONGSHORE_URL: 'http://127.0.0.1:9', LONGSHORE_TOKEN: 't' }
    const unreachable = await runAgainst(['--env', 'e', '--dir', app], away)
    expect(unreachable).toMatchObject({ code: 1, err: expect.stringContaining('cannot be reached') })
  })
})

describe('--json', () => {
  it('prints one object for success, failure and rejection', async () => {
    const good = await run(['--env', 'e', '--image', 'app:1', '--json'])
    expect(JSON.parse(good.out)).toMatchObject({
      ok: true,
      appEnvId: 'env_1',
      envName: 'shop-prod',
      contentId: 'dep_1',
      version: 3,
      urls: ['http://shop-prod.fn.localhost:4480'],
      failure: null,
    })
    await platform!.close()
    platform = null
    const failure = { reason: 'image pull', message: 'There is no app:1.' }
    const bad = await run(['--env', 'e', '--image', 'app:1', '--json'], {
      statuses: [{ status: 'STOPPED', deployment: 'FAILED', failure }],
    })
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, failure })
    const wrong = await runAgainst(['--json'], {})
    expect(JSON.parse(wrong.out)).toMatchObject({ ok: false, error: expect.stringContaining('--env') })
  })
})

it('Ctrl-C stops watching, not the deployment, and says so', async () => {
  platform = await startScriptedPlatform({ statuses: [{ status: 'PENDING', deployment: 'BUILDING' }] })
  const env = { LONGSHORE_URL: platform.url, LONGSHORE_TOKEN: 't' }
  const { code, err } = await runAgainst(['--env', 'e', '--image', 'app:1'], env, (stop) => {
    const watch = setInterval(() => {
      if (!calls().includes('GET /logs')) return
      clearInterval(watch)
      stop()
    }, 5)
  })
  expect(code).toBe(130)
  expect(err).toContain('The deployment of version 3 continues.')
})
