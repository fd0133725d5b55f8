import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { counted } from '../../amounts.ts'
import { systemClock } from '../../clock.ts'
import { type Config, readConfig } from '../../config/config.ts'
import { openFiles } from '../../files/open.ts'
import { createLog } from '../../log.ts'
import { type Home, openHome, requireHome } from '../../store/data-directory.ts'
import type { Db } from '../../store/db.ts'
import { readInstallation } from '../../store/first-start.ts'
import { openStore } from '../../store/open.ts'
import { listBackupIds } from '../../store/repositories/backups.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments-in-regions.ts'
import { listRemovals } from '../../store/repositories/removals.ts'
import { listUploadIds } from '../../store/repositories/uploads.ts'
import { commandLine } from '../build-id.ts'
import { ownedByEngines } from '../regions/open.ts'

/** Something outside the store that no record owns. */
interface Orphan {
  kind: string
  name: string
  /** Its removal is stored: a running platform does it, and retries. */
  isPending: boolean
}

interface Report {
  orphans: Orphan[]
  problems: string[]
  /** What this machine lacks. */
  notes?: string[]
}

/** `longshore doctor`: works while the platform is running or stopped, and changes nothing. */
export async function runDoctor(options: { json: boolean }, env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  requireHome(config.home)
  const home = openHome(config.home)
  const db = await openStore(config, home)
  try {
    const { orphans, problems, notes } = await examine(config, home, db)
    const unowned = orphans.filter(({ isPending }) => !isPending)
    const isWell = unowned.length === 0 && problems.length === 0
    const report = { isWell, orphans, problems, ...(notes.length > 0 && { notes }) }
    process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : textOf(report))
    return report.isWell ? 0 : 1
  } finally {
    await db.close()
  }
}

async function examine(config: Config, home: Home, db: Db) {
  const installation = await readInstallation(db)
  if (!installation) return { orphans: [], problems: [], notes: [] }
  const { installationId } = installation
  // Listed before the rows are read: a row is older than what it owns.
  const engines = await ownedByEngines({
    ...{ config, db, installationId, nodeName: config.node, isShared: config.databaseUrl !== undefined },
    ...{ clock: systemClock, log: createLog('doctor', 'warn'), command: commandLine },
  })
  const { files } = await openFiles(config.filesUrl, home.dir, installationId)
  const stored = [...(await files.list('uploads')), ...(await files.list('backups'))].map(({ key }) => key)
  const folders = [
    ...(await foldersIn('logs', home.logs)),
    ...(await foldersIn('measurements', path.join(home.metrics, 'env'))),
  ]
  const known = await db.read(async (tx) => ({
    environments: new Set(await listEnvironmentIdsIn(tx)),
    files: new Set([...(await listUploadIds(tx)), ...(await listBackupIds(tx))]),
    removals: new Set((await listRemovals(tx, {})).map(({ subject }) => subject)),
  }))
  const owned = [...engines.owned, ...folders]
  const orphans: Orphan[] = [
    ...owned
      .filter(({ appEnvId }) => appEnvId === null || !known.environments.has(appEnvId))
      .map(({ kind, name, appEnvId }) => ({ kind, name, isPending: known.removals.has(appEnvId ?? '') })),
    ...stored
      .filter((key) => !known.files.has(path.posix.basename(key).split('.')[0] ?? ''))
      .map((key) => ({ kind: 'file', name: key, isPending: known.removals.has(key) })),
  ]
  return { orphans, problems: engines.problems.map(({ message }) => message), notes: engines.notes }
}

async function foldersIn(kind: string, folder: string) {
  const names = await readdir(folder).catch(() => [])
  return names.map((name) => ({ kind, name, appEnvId: name }))
}

function textOf({ orphans, problems, notes = [] }: Report): string {
  const lines = orphans.map(
    ({ kind, name, isPending }) =>
      `${kind}  ${name}${isPending ? '  (its removal is stored and continues)' : ''}`,
  )
  const unowned = orphans.filter(({ isPending }) => !isPending).length
  lines.push(...problems.map((problem) => `Not examined: ${problem}`), ...notes)
  lines.push(
    unowned === 0
      ? 'Everything here belongs to a record, or its removal is stored.'
      : `${counted(unowned, 'thing belongs', 'things belong')} to no record. Remove what you do not know; Longshore does not use it.`,
  )
  return `${lines.join('\n')}\n`
}
