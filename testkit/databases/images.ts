import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type Docker from 'dockerode'
import { contentTag, importImage, programFiles, testDocker, withLibraries } from '../engines/docker-images.ts'

/** Below this name the images stand in for the presets' own (LONGSHORE_DATABASE_IMAGES). */
export const databaseImageSource = 'localhost/longshore-test-db'

/** Increase this whenever the recipe below changes. */
const recipe = 4

/** Programs that the entry points call besides the server. */
const tools = 'cat chmod chown id mkdir mv printf rm sed setpriv sleep touch true'.split(' ')

/**
 * Does with this machine's server what the official image does with its own: as root it gives the data folder away
 * and becomes an ordinary user, makes the cluster at the first start, then becomes the server.
 */
const postgresEntry = `#!/bin/sh
set -eu
if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R database:database "$PGDATA" /var/run/postgresql
  chmod 700 "$PGDATA"
  exec setpriv --reuid=999 --regid=999 --clear-groups -- "$0" "$@"
fi
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  umask 077
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --no-locale
  rm /tmp/password
  printf 'create database "%s"\\n' "$POSTGRES_DB" | postgres --single -D "$PGDATA" postgres > /dev/null
  printf 'host all all all scram-sha-256\\n' >> "$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\\n" >> "$PGDATA/postgresql.conf"
fi
exec "$@"
`

const redisEntry = `#!/bin/sh
set -eu
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  chown database:database .
  exec setpriv --reuid=999 --regid=999 --clear-groups -- "$0" "$@"
fi
umask 077
exec "$@"
`

/** Which of the two this machine's programs give; images are made once and found again by their content. */
export async function ensureDatabaseImages(docker: Docker = testDocker()): Promise<('postgres' | 'redis')[]> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-images-'))
  try {
    const made: ('postgres' | 'redis')[] = []
    const postgres = postgresHome()
    if (postgres) {
      const files = postgresFiles(postgres)
      const settings = [`ENV PATH=${postgres}/bin:/usr/local/bin:/usr/bin:/bin`, 'CMD ["postgres"]']
      // The version that an environment asks for in tests; whichever this machine has stands in for it.
      await ensure(docker, 'postgres', ['15', '16'], files, { dir, entry: postgresEntry, settings })
      made.push('postgres')
    }
    const server = ['/usr/bin', '/usr/local/bin'].map((one) => `${one}/redis-server`).find(isThere)
    if (server) {
      const files = new Map([['usr/local/bin/redis-server', realpathSync(server)]])
      const client = server.replace('redis-server', 'redis-cli')
      if (isThere(client)) files.set('usr/local/bin/redis-cli', realpathSync(client))
      const settings = ['WORKDIR /data', 'CMD ["redis-server"]']
      await ensure(docker, 'redis', ['7.2', '7.4'], files, { dir, entry: redisEntry, settings })
      made.push('redis')
    }
    return made
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function ensure(
  docker: Docker,
  name: string,
  versions: readonly string[],
  own: ReadonlyMap<string, string>,
  { dir, entry, settings }: { dir: string; entry: string; settings: readonly string[] },
): Promise<void> {
  const files = withLibraries(new Map([...programFiles(tools), ...own]))
  const repo = `${databaseImageSource}/${name}`
  const tag = `made-${contentTag(files, `${recipe} ${entry} ${settings.join()}`)}`
  const found = await docker.listImages({ filters: { reference: [`${repo}:${tag}`] } })
  if (found.length === 0) {
    const script = path.join(dir, name)
    writeFileSync(script, entry)
    files.set('usr/local/bin/docker-entrypoint.sh', script)
    const all = ['ENTRYPOINT ["docker-entrypoint.sh"]', ...settings]
    await importImage(docker, repo, tag, files, all)
  }
  for (const version of versions) await docker.getImage(`${repo}:${tag}`).tag({ repo, tag: version })
}

/** The newest that Debian's packages brought; null without one. */
function postgresHome(): string | null {
  const home = '/usr/lib/postgresql'
  const versions = isThere(home) ? readdirSync(home).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => `${home}/${version}`).find((one) => isThere(`${one}/bin/initdb`)) ?? null
}

/** Programs, the modules that they load, and the files of initdb; all at the paths they were built for. */
function postgresFiles(home: string): Map<string, string> {
  const files = new Map<string, string>()
  const wanted =
    'postgres initdb pg_basebackup pg_dump pg_restore pg_isready pg_controldata pg_rewind psql'.split(' ')
  for (const name of wanted) files.set(`${home}/bin/${name}`.slice(1), realpathSync(`${home}/bin/${name}`))
  const share = `/usr/share/postgresql/${path.basename(home)}`
  const modules = filesBelow(`${home}/lib`).filter((file) => /\.so$/.test(file) && !/llvm|sepgsql/.test(file))
  const data = [share, '/usr/share/zoneinfo/Etc', '/usr/lib/locale/C.utf8'].flatMap(filesBelow)
  for (const file of [...modules, ...data]) files.set(file.slice(1), realpathSync(file))
  return files
}

function filesBelow(dir: string): string[] {
  if (!isThere(dir)) return []
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(dir, entry.name)
    if (entry.isDirectory()) return filesBelow(file)
    return isThere(file) && statSync(file).isFile() ? [file] : []
  })
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined
}
