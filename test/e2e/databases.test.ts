import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAppEnvChanges } from '../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { type DatabasePresetName, listDatabasePresets } from '../../src/contract/databases.ts'
import { Installation } from '../support/installation.ts'
import { until } from '../support/story.ts'

const run = promisify(execFile)

/** Both ends are on this machine, or nothing can be tried. */
async function present(...programs: string[]): Promise<boolean> {
  const found = await Promise.all(
    programs.map((program) => run(program, ['--version']).then(Boolean, () => false)),
  )
  return found.every(Boolean)
}

const clients = { postgres: await present('psql'), redis: await present('redis-cli', 'redis-server') }

describe('managed databases on the process engine', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  beforeAll(() => installation.start().then(() => {}), 60_000)
  afterAll(() => installation.dispose(), 120_000)

  const urlOf = async (appEnvId: string) =>
    (await installation.client().call(getAppEnv, { appEnvId, decrypt: true })).hosts[0]?.url ?? ''

  const untilRunning = (appEnvId: string) =>
    until(
      () => installation.client().call(getAppEnvStatus, { appEnvId }),
      ({ status, containers }) => status === 'RUNNING' && containers.ready === 1,
      'a database that answers',
    )

  async function make(dockerPreset: DatabasePresetName): Promise<string | null> {
    const client = installation.client()
    const { accountId } = installation.ready
    const { presets } = await client.call(listDatabasePresets, {})
    if (!presets.find((preset) => preset.dockerPreset === dockerPreset)?.available) return null
    const { appId } = await client.call(createApp, { name: dockerPreset, accountId, dockerPreset })
    const input = { accountId, appId, name: 'prod', region: 'local' }
    const { appEnvId } = await client.call(createAppEnv, input)
    await untilRunning(appEnvId)
    return appEnvId
  }

  it.skipIf(!clients.postgres)(
    'D5 PostgreSQL keeps every committed row through kill -9, and SHOW tells the applied parameter (skipped where no PostgreSQL is installed)',
    async (context) => {
      const appEnvId = await make('POSTGRESQL')
      if (appEnvId === null) return context.skip()
      const sql = async (text: string) =>
        (await run('psql', [await urlOf(appEnvId), '-Atc', text])).stdout.trim()
      await sql('create table rows (n int); insert into rows values (1)')
      await installation.end('SIGKILL')
      await installation.start()
      await sql('insert into rows values (2)')
      const { pods } = await installation.client().call(getAppEnvPods, { appEnvId })
      expect(pods).toHaveLength(1)
      const databaseSettings = { postgresql: { parameters: { work_mem: '9MB' } } }
      await installation.client().call(updateAppEnv, { appEnvId, databaseSettings })
      expect(await sql('show work_mem')).toBe('4MB')
      await installation.client().call(applyAppEnvChanges, { appEnvId })
      await until(
        () => sql('show work_mem'),
        (value) => value === '9MB',
        'the new work_mem',
      )
      expect(await sql('select n from rows order by n')).toBe('1\n2')
      const masked = await installation.client().call(getAppEnv, { appEnvId })
      expect(masked.hosts[0]?.url).toContain('***SECRET***')
    },
    120_000,
  )

  it.skipIf(!clients.redis)(
    'Redis answers with its password only (skipped where no Redis is installed)',
    async (context) => {
      const appEnvId = await make('REDIS')
      if (appEnvId === null) return context.skip()
      const url = await urlOf(appEnvId)
      expect((await run('redis-cli', ['-u', url, 'set', 'a', '1'])).stdout.trim()).toBe('OK')
      const { port } = new URL(url)
      expect((await run('redis-cli', ['-p', port, 'get', 'a'])).stdout).toContain('NOAUTH')
    },
    60_000,
  )
})
