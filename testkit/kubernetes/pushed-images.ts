import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { databaseImageSource, ensureDatabaseImages } from '../databases/images.ts'
import {
  contentTag,
  ensureNodeBaseImage,
  importImage,
  programFiles,
  testDocker,
  withLibraries,
} from '../engines/docker-images.ts'
import { cluster } from './cluster.ts'

const run = promisify(execFile)
/** Nodes keep images that they have pulled under a name, so a changed recipe needs another name. */
const source = 'longshore-test-db/recipe-3'
const share = '/usr/share/mysql'
const tools = 'cat chmod chown env id mkdir mv printf rm sed setpriv sleep tail tee'.split(' ')
const servers = 'mariadbd mariadb mariadb-dump'.split(' ')

/** Uses this machine's MariaDB as the official image of MySQL uses its server. */
const mysqlEntry = `#!/bin/sh
set -eu
data=/var/lib/mysql
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$data"
  chown -R database:database "$data"
  exec setpriv --reuid=999 --regid=999 --clear-groups -- "$0"
fi
if [ ! -d "$data/mysql" ]; then
  {
    printf '%s\\n' 'create database mysql;' 'use mysql;'
    for file in mysql_system_tables mysql_performance_tables mysql_system_tables_data; do cat ${share}/$file.sql; done
    echo "flush privileges;"
    echo "create database \\\`$MYSQL_DATABASE\\\`;"
    echo "create user '$MYSQL_USER'@'%' identified by '$MYSQL_PASSWORD';"
    echo "grant all privileges on \\\`$MYSQL_DATABASE\\\`.* to '$MYSQL_USER'@'%';"
    echo "alter user 'root'@'localhost' identified by '$MYSQL_ROOT_PASSWORD';"
  } | mariadbd --no-defaults --datadir="$data" --bootstrap
fi
exec mariadbd --no-defaults --datadir="$data" --bind-address=0.0.0.0 --skip-name-resolve --socket=/tmp/server.sock
`

/** Where the images of databases are that the tests pushed: `LONGSHORE_DATABASE_IMAGES` of an installation. */
export const clusterImageSource = `${cluster.registry}/${source}`

/**
 * Pushes images of Redis and MySQL made of this machine's programs to the registry of the tests. `REGISTRY_LOCAL` is its
 * address for this machine's Docker.
 */
export async function pushDatabaseImages(): Promise<void> {
  const docker = testDocker()
  await ensureDatabaseImages(docker)
  await push(`${databaseImageSource}/redis:7.4`, 'redis:7.4')
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-mysql-'))
  try {
    const entry = path.join(dir, 'entry')
    writeFileSync(entry, mysqlEntry)
    const files = withLibraries(new Map([...programFiles(tools), ...mysqlFiles()]))
    const tag = `made-${contentTag(files, mysqlEntry)}`
    files.set('usr/local/bin/docker-entrypoint.sh', entry)
    await importImage(docker, `${databaseImageSource}/mysql`, tag, files, [
      'ENTRYPOINT ["docker-entrypoint.sh"]',
    ])
    await push(`${databaseImageSource}/mysql:${tag}`, 'mysql:8.4')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** An image of this machine's Node once it is pushed; the reference is Node for the process engine too. */
export const nodeImage = `${clusterImageSource}/node:20`

export async function pushNodeImage(): Promise<void> {
  await push(await ensureNodeBaseImage(), 'node:20')
}

async function push(image: string, name: string): Promise<void> {
  const target = `${process.env.REGISTRY_LOCAL}/${source}/${name}`
  await run('docker', ['tag', image, target])
  await run('docker', ['push', '--quiet', target])
}

function mysqlFiles(): Map<string, string> {
  const files = new Map<string, string>()
  for (const name of servers) {
    const found = ['/usr/sbin', '/usr/bin'].map((dir) => path.join(dir, name)).find(isFile)
    if (found) files.set(`usr/bin/${name}`, realpathSync(found))
  }
  for (const name of readdirSync(share, { recursive: true }) as string[]) {
    const file = path.join(share, name)
    if (/^(charsets|english|[^/]*\.sql$)/.test(name) && isFile(file))
      files.set(file.slice(1), realpathSync(file))
  }
  return files
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Whether this machine can make the images of databases and push them. */
export const canPushImages = Boolean(process.env.REGISTRY_LOCAL) && isFile('/usr/sbin/mariadbd')
