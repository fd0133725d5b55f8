import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import type { DatabasePresetName } from '../../contract/databases.ts'
import { findProgram, hostPath } from './host-runtimes.ts'

const run = promisify(execFile)

/** The program of this machine that stands in for a preset's image. */
export interface DatabaseProgram {
  /** As people call it, such as `PostgreSQL 15`. */
  title: string
  /** The server; the other programs it needs lie beside it. */
  server: string
}

/** Debian and others keep several versions side by side, outside of PATH. */
const postgresHomes = ['/usr/lib/postgresql', '/usr/local/pgsql', '/opt/postgresql']
const serverPath = () => `${hostPath()}:/usr/sbin:/usr/local/sbin`

/** Every usable PostgreSQL of this machine by major version, the newest first. */
export async function findPostgres(): Promise<(DatabaseProgram & { major: number })[]> {
  const dirs = postgresHomes.flatMap((home) => [
    ...subfolders(home).map((name) => `${home}/${name}/bin`),
    `${home}/bin`,
  ])
  const found = new Map<number, DatabaseProgram & { major: number }>()
  for (const server of [...dirs, ...serverPath().split(':')].map((dir) => findProgram('postgres', dir))) {
    if (server === null || findProgram('initdb', server.replace(/\/postgres$/, '')) === null) continue
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(await versionText(server))?.[1])
    if (major && !found.has(major)) found.set(major, { title: `PostgreSQL ${major}`, server, major })
  }
  return [...found.values()].sort((a, b) => b.major - a.major)
}

/** Null when this machine has none. */
export async function findDatabaseProgram(preset: DatabasePresetName): Promise<DatabaseProgram | null> {
  switch (preset) {
    case 'POSTGRESQL':
      return (await findPostgres())[0] ?? null
    case 'REDIS':
      return await program('redis-server', 'Redis', /v=(\d+\.\d+)/)
    case 'MYSQL':
      if (findProgram('mariadb-install-db', serverPath()) === null) return null
      return await program('mariadbd', 'MariaDB', /Ver (\d+\.\d+)/)
    case 'RABBITMQ':
      return findRabbit()
    default:
      return null
  }
}

/** Asked for its version it would start: the name of its folder tells. Packages put a wrapper for root on PATH. */
function findRabbit(): DatabaseProgram | null {
  if (['erl', 'epmd'].some((name) => findProgram(name, serverPath()) === null)) return null
  const homes = ['/usr/lib/rabbitmq/lib', '/opt/rabbitmq', '/usr/local/lib/rabbitmq']
  const dirs = homes.flatMap((home) => [...subfolders(home).map((name) => `${home}/${name}`), home]).reverse()
  for (const dir of dirs) {
    const server = findProgram('rabbitmq-server', `${dir}/sbin`)
    const version = /rabbitmq_server-(\d+\.\d+)/.exec(dir)?.[1] ?? ''
    if (server !== null) return { title: `RabbitMQ ${version}`.trim(), server }
  }
  return null
}

/** What would have to be installed, in the words of the reason. */
export function missingProgram(preset: DatabasePresetName): string {
  const programs: Partial<Record<DatabasePresetName, string>> = {
    POSTGRESQL: 'PostgreSQL (postgres and initdb)',
    REDIS: 'Redis (redis-server)',
    MYSQL: 'MariaDB (mariadbd and mariadb-install-db)',
    RABBITMQ: 'RabbitMQ (rabbitmq-server with Erlang)',
  }
  const wanted = programs[preset]
  return wanted === undefined
    ? 'The process engine does not run this database. Start Longshore with LONGSHORE_ENGINE=docker.'
    : `This machine has no ${wanted}. Install it, or start Longshore with LONGSHORE_ENGINE=docker.`
}

/**
 * PostgreSQL refuses to run as root and MariaDB warns of it: as root they get a user namespace in which they are an
 * ordinary user without any capability, while their files stay root's own. Null where the kernel forbids that.
 */
export async function unprivilegedPrefix(): Promise<string[] | null> {
  if (process.getuid?.() !== 0) return []
  const unshare = findProgram('unshare', serverPath())
  if (unshare === null) return null
  const prefix = [unshare, '--user', '--map-user=1000', '--map-group=1000', '--']
  try {
    await run(prefix[0] as string, [...prefix.slice(1), '/bin/true'], { timeout: 10_000 })
    return prefix
  } catch {
    return null
  }
}

async function program(name: string, title: string, version: RegExp): Promise<DatabaseProgram | null> {
  const server = findProgram(name, serverPath())
  if (server === null) return null
  return { title: `${title} ${version.exec(await versionText(server))?.[1] ?? ''}`.trim(), server }
}

async function versionText(server: string): Promise<string> {
  try {
    return (await run(server, ['--version'], { timeout: 10_000 })).stdout
  } catch {
    return ''
  }
}

function subfolders(dir: string): string[] {
  try {
    return readdirSync(dir).sort()
  } catch {
    return []
  }
}
