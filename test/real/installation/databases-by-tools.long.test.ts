import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { present, psql } from '../../../testkit/databases/fixture.ts'
import { type Agent, agentOf } from '../../../testkit/mcp/tools-over-http.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const hasPostgres = await present('psql')

describe.skipIf(!hasPostgres)(
  'the scenario of a database, through tools alone (skipped where no PostgreSQL is installed)',
  () => {
    const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
    let agent: Agent
    beforeAll(async () => {
      await installation.start()
      // Only `longshore mcp` has an option to show secrets; the URL of a database holds one.
      const client = new Client({ name: 'agent', version: '1' })
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [path.resolve('dist/longshore.js'), 'mcp', '--allow-secrets'],
          env: {
            PATH: process.env.PATH ?? '',
            LONGSHORE_URL: installation.ready.api,
            LONGSHORE_TOKEN: installation.token,
          },
        }) as never,
      )
      agent = agentOf(client)
    })
    afterAll(async () => {
      await agent.close()
      await installation.dispose()
    })

    const running = (appEnvId: string, containers = 1) =>
      untilRead(
        () => agent.does('get-app-env-status', { appEnvId }),
        (read) => read.status === 'RUNNING' && read.containers.ready === containers,
        'a database that answers',
        180_000,
      )
    const ended = (accountId: string, appEnvId: string) =>
      untilRead(
        () => agent.does('list-app-env-backups', { accountId, appEnvId }),
        ({ backups, restores }) =>
          [...backups, ...restores].every(({ finishedAt }: { finishedAt: string | null }) => finishedAt),
        'the end of the copy',
        180_000,
      )

    it('D5 an agent creates PostgreSQL, uses its URL, tunes, backs up, restores into a copy and adds a replica', async () => {
      const { presets } = await agent.does('list-database-presets')
      const preset = presets.find((one: { dockerPreset: string }) => one.dockerPreset === 'POSTGRESQL')
      expect(preset).toMatchObject({ available: true, limits: { maxReplicas: 3 } })
      const { accountId } = installation.ready
      const app = { name: 'orders', accountId, dockerPreset: 'POSTGRESQL' }
      const { appId } = await agent.does('create-app', app)
      const make = async (name: string): Promise<string> => {
        const environment = { accountId, appId, name, region: 'local' }
        const { appEnvId } = await agent.does('create-app-env', environment)
        await running(appEnvId)
        return appEnvId
      }
      const urls = async (appEnvId: string): Promise<string[]> =>
        (await agent.does('get-app-env', { appEnvId, decrypt: true })).hosts.map(
          ({ url }: { url: string }) => url,
        )
      const appEnvId = await make('prod')
      const [url = ''] = await urls(appEnvId)
      await psql(url, 'create table rows (n int); insert into rows values (1)')
      await agent.does('restart-app-env', { appEnvId })
      await running(appEnvId)
      expect(await psql(url, 'select n from rows')).toBe('1')
      const databaseSettings = { postgresql: { parameters: { work_mem: '9MB' } } }
      await agent.does('update-app-env', { appEnvId, databaseSettings })
      await agent.does('apply-app-env-changes', { appEnvId })
      await running(appEnvId)
      expect(await psql(url, 'show work_mem')).toBe('9MB')

      const { backup } = await agent.does('create-app-env-backup', { appEnvId })
      expect((await ended(accountId, appEnvId)).backups).toMatchObject([{ status: 'SUCCEEDED' }])
      const copy = await make('copy')
      const desiredState = { appEnvId: copy, backupId: backup.backupId }
      const refused = await agent.says('restore-app-env-backup', desiredState)
      expect([refused.isError, refused.text.includes('copy')]).toEqual([true, true])
      const { cliEnvName } = await agent.does('get-app-env', { appEnvId: copy })
      await agent.does('restore-app-env-backup', { ...desiredState, confirm: cliEnvName })
      expect((await ended(accountId, copy)).restores).toMatchObject([{ status: 'SUCCEEDED' }])
      expect(await psql((await urls(copy))[0] ?? '', 'select n from rows')).toBe('1')

      await agent.does('scale-app-env-containers', { appEnvId, containers: 2 })
      await agent.does('apply-app-env-changes', { appEnvId })
      await running(appEnvId, 2)
      const [, replica = ''] = await urls(appEnvId)
      await psql(url, 'insert into rows values (2)')
      await untilRead(
        () => psql(replica, 'select count(*) from rows'),
        (count) => count === '2',
        'the row on the replica',
      )
      const gone = await agent.says('update-app-env', { appEnvId, dockerPresetVersion: '16-pgvector' })
      expect(gone.isError).toBe(true)
    })
  },
)
