import { execFile } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp, listApps } from '../../../src/contract/apps.ts'
import type { ChainReport } from '../../../src/store/verify-audit.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { noPostgres, PostgresServer, runPostgresProgram } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)

/** The steps of docs/operations.md#back-up-the-platform-and-restore-it, with PostgreSQL's own programs. */
describe.skipIf(noPostgres)(
  `the platform restored to a moment${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    let restored: PostgresServer
    let planes: ControlPlanes
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-moment-'))
    const archive = path.join(dir, 'archive')
    const plane = () => planes.at('alder')

    beforeAll(async () => {
      server = await PostgresServer.start()
      mkdirSync(archive)
      for (const one of [dir, archive]) ownedByServer(one)
      for (const setting of [`archive_mode = on`, `archive_command = 'cp %p ${archive}/%f'`])
        await server.query('postgres', `alter system set ${setting}`)
      await server.halt('SIGINT')
      await server.launch()
      planes = await ControlPlanes.start(server, { alder: 'none' })
    })
    afterAll(async () => {
      await planes?.dispose()
      await restored?.stop()
      await server?.stop()
      rmSync(dir, { recursive: true, force: true })
    })

    function ownedByServer(file: string): void {
      chmodSync(file, 0o755)
      if (server.user) chownSync(file, server.user.uid, server.user.gid)
    }
    const make = (name: string) =>
      plane()
        .client()
        .call(createApp, { accountId: plane().ready.accountId, name, dockerPreset: 'CUSTOM', port: 80 })
    async function appNames(): Promise<string[]> {
      const { apps } = await plane().client().call(listApps, { accountId: plane().ready.accountId })
      return apps.map(({ name }) => name).sort()
    }
    async function verify(url: string, ...options: string[]) {
      const settings = { LONGSHORE_HOME: plane().home, LONGSHORE_NODE: 'alder', LONGSHORE_DATABASE_URL: url }
      const env = { ...process.env, ...planes.settings, ...settings }
      const args = ['dist/longshore.js', 'audit', 'verify', '--json', ...options]
      const { stdout } = await run('node', args, { env }).catch((error: { stdout: string }) => error)
      return JSON.parse(stdout) as { whole: boolean; chains: ChainReport[]; missingHeads: string[] }
    }

    /** Base backup, and the archived log up to now, as a data directory that recovers to `moment`. */
    async function restoreTo(moment: string, base: string): Promise<PostgresServer> {
      const [{ file }] = (await server.query(
        'postgres',
        'select pg_walfile_name(pg_current_wal_lsn()) as file',
      )) as [{ file: string }]
      await server.query('postgres', 'select pg_switch_wal()')
      await untilRead(
        () => server.query('postgres', 'select last_archived_wal as file from pg_stat_archiver'),
        ([row]) => String(row?.file ?? '') >= file,
        'the archived log',
      )
      await server.halt('SIGINT')
      const settings = [
        `unix_socket_directories = '${base}'`,
        'archive_mode = off',
        `restore_command = 'cp ${archive}/%f %p'`,
        `recovery_target_time = '${moment}'`,
        `recovery_target_action = 'promote'`,
      ]
      appendFileSync(path.join(base, 'data', 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
      const signal = path.join(base, 'data', 'recovery.signal')
      writeFileSync(signal, '')
      ownedByServer(signal)
      const found = await PostgresServer.over({ dir: base, password: server.password })
      await found.launch()
      return found
    }

    it('has what was acknowledged before, and nothing after; the audit log verifies, and a later head is missing', async () => {
      await make('before the base backup')
      const base = path.join(dir, 'base')
      mkdirSync(base)
      ownedByServer(base)
      const connection = ['-h', server.dir, '-U', 'longshore', '-D', path.join(base, 'data')]
      await runPostgresProgram('pg_basebackup', [...connection, '--checkpoint=fast', '--wal-method=none'], {
        PGPASSWORD: server.password,
      })
      await make('after the base backup')
      const [{ moment }] = (await server.query('postgres', 'select clock_timestamp()::text as moment')) as [
        { moment: string },
      ]
      await make('a mistake')
      const later = await verify(server.url(planes.database))
      await plane().end('SIGTERM')

      restored = await restoreTo(moment, base)
      const url = restored.url(planes.database)
      await plane().start({ LONGSHORE_DATABASE_URL: url })
      expect(await appNames()).toEqual(['after the base backup', 'before the base backup'])
      expect(await verify(url)).toMatchObject({ whole: true, missingHeads: [] })
      const head = later.chains.find(({ accountId }) => accountId === plane().ready.accountId)?.head ?? ''
      expect(await verify(url, '--head', head)).toMatchObject({ whole: false, missingHeads: [head] })
      await make('made after the restore')
      expect(await appNames()).toHaveLength(3)
      expect(await verify(url)).toMatchObject({ whole: true })
    })
  },
)
