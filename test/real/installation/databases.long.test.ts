import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAppEnvChanges } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { CommittingWriter } from '../../../testkit/databases/committing-writer.ts'
import { DatabaseFixture, present } from '../../../testkit/databases/fixture.ts'
import { killEach } from '../../../testkit/databases/kills.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)

const clients = { postgres: await present('psql'), redis: await present('redis-cli', 'redis-server') }

describe('managed databases on the process engine', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  beforeAll(() => installation.start().then(() => {}))
  afterAll(() => installation.dispose())

  const fixture = new DatabaseFixture(installation)

  it.skipIf(!clients.postgres)(
    'D5 PostgreSQL keeps every committed row through kill -9, and SHOW tells the applied parameter (skipped where no PostgreSQL is installed)',
    async (context) => {
      const appEnvId = await fixture.makeOrSkip(context, 'POSTGRESQL')
      const sql = (text: string) => fixture.sql(appEnvId, text)
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
      await untilRead(
        () => sql('show work_mem'),
        (value) => value === '9MB',
        'the new work_mem',
      )
      expect(await sql('select n from rows order by n')).toBe('1\n2')
      const masked = await installation.client().call(getAppEnv, { appEnvId })
      expect(masked.hosts[0]?.url).toContain('***SECRET***')
    },
    180_000,
  )

  it.skipIf(!clients.postgres)(
    'PostgreSQL loses no committed row to kill -9 of platform, server and supervisor in turn (skipped where no PostgreSQL is installed)',
    async (context) => {
      const appEnvId = await fixture.makeOrSkip(context, 'POSTGRESQL', { name: 'kills' })
      const writer = new CommittingWriter(await fixture.url(appEnvId))
      await writer.start()
      const victims = ['database', 'platform', 'supervisor'] as const
      const figures = await killEach(installation, appEnvId, writer, { kills: 3, victims, livesMs: 0 })
      expect(figures.wrong).toEqual([])
      expect(figures.committed).toBeGreaterThan(60)
    },
    240_000,
  )

  it.skipIf(!clients.redis)(
    'Redis answers with its password only (skipped where no Redis is installed)',
    async (context) => {
      const appEnvId = await fixture.makeOrSkip(context, 'REDIS')
      const url = await fixture.url(appEnvId)
      expect((await run('redis-cli', ['-u', url, 'set', 'a', '1'])).stdout.trim()).toBe('OK')
      const { port } = new URL(url)
      expect((await run('redis-cli', ['-p', port, 'get', 'a'])).stdout).toContain('NOAUTH')
    },
    180_000,
  )
})
