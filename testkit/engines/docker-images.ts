import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'
import { dockerodeOptions, findDockerEndpoint } from '../../src/docker-endpoint.ts'
import { statusOf } from '../../src/engines/docker/client.ts'
import { HostFirewall } from '../../src/engines/docker/host-firewall.ts'
import { stageRepository } from '../../src/engines/docker/image-names.ts'
import { installationHash } from '../../src/engines/docker/names.ts'
import { createLog } from '../../src/log.ts'

/** Changes when the recipe below does, so that an image made by an older recipe is not used again. */
const recipe = 4

/** Programs that Dockerfiles of tests call besides shell built-ins. */
const programs =
  'sleep rm touch ls cat mkdir cp mv chmod chown id env head tail wc date ln stat tar grep'.split(' ')

/**
 * A base image from files of this machine: its node as /usr/local/bin/node, its /bin/sh, a few coreutils and their
 * shared libraries. Needs no registry. Created once, then reused by a tag of its content.
 * Returns the image name.
 */
export async function ensureNodeBaseImage(docker: Docker = testDocker()): Promise<string> {
  const files = imageFiles()
  const repo = 'longshore-test-node'
  const tag = contentTag(files, String(recipe))
  const found = await docker.listImages({ filters: { reference: [`${repo}:${tag}`] } })
  if (found.length === 0) await importImage(docker, repo, tag, files, ['CMD ["node"]'])
  return `${repo}:${tag}`
}

/** The same for the same files of this machine and the same recipe. */
export function contentTag(files: ReadonlyMap<string, string>, recipeText: string): string {
  const hash = createHash('sha256').update(recipeText)
  for (const [name, source] of files) {
    const { size, mtimeMs } = statSync(source)
    hash.update(`${name} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 12)
}

/** A client of the engine the tests use; the same search as the platform's. */
export function testDocker(): Docker {
  return new Docker(dockerodeOptions(findDockerEndpoint()))
}

/** Removes all an installation made on the engine and its machine: containers, networks, volumes, images, rules. */
export async function removeInstallation(
  installationId: string,
  docker: Docker = testDocker(),
): Promise<void> {
  const label = [`longshore.installation=${installationId}`]
  await removeEach(
    () => docker.listContainers({ all: true, filters: { label } }),
    ({ Id }) => docker.getContainer(Id).remove({ force: true, v: true }),
  )
  await removeEach(
    () => docker.listNetworks({ filters: { label } }),
    ({ Id }) => docker.getNetwork(Id).remove(),
  )
  const firewall = new HostFirewall({
    id: installationHash(installationId),
    open: true,
    openPorts: [],
    log: createLog('test', 'silent'),
  })
  await firewall.protect('container ip', async () => [])
  await removeEach(
    async () => (await docker.listVolumes({ filters: { label } })).Volumes ?? [],
    ({ Name }) => docker.getVolume(Name).remove(),
  )
  const stages = stageRepository(installationId, '*').replace(/[^/]*$/, '*')
  const images: Record<string, string[]>[] = [{ label }, { reference: [stages] }]
  for (const filters of images)
    await removeEach(
      () => docker.listImages({ filters }),
      ({ Id }) => docker.getImage(Id).remove({ force: true }),
    )
}

/** Waits until the list is empty: the daemon may still be busy with removals that the platform no longer waits for. */
async function removeEach<T>(
  list: () => Promise<readonly T[]>,
  remove: (one: T) => Promise<unknown>,
): Promise<void> {
  let busy: unknown
  const deadline = Date.now() + 60_000
  for (let found = await list(); found.length > 0; found = await list()) {
    if (Date.now() > deadline) throw busy ?? new Error('what an installation made is still listed')
    for (const one of found)
      await remove(one).catch((error: unknown) => {
        // 404: removed since the list was read. 409: being removed, or still in use.
        if (![404, 409].includes(statusOf(error) ?? 0)) throw error
        busy = error
      })
    await sleep(100)
  }
}

/** Ids of the containers and names of the volumes of an environment. */
export async function leftOnDocker(appEnvId: string, docker: Docker = testDocker()): Promise<string[]> {
  const filters = { label: [`longshore.env=${appEnvId}`] }
  const containers = await docker.listContainers({ all: true, filters })
  const { Volumes } = await docker.listVolumes({ filters })
  return [...containers.map(({ Id }) => Id), ...(Volumes ?? []).map(({ Name }) => Name)]
}

/** Path in the image → path on this machine. */
function imageFiles(): Map<string, string> {
  if (process.platform !== 'linux') throw new Error('the test base image is made of Linux programs')
  const files = new Map([['usr/local/bin/node', realpathSync(process.execPath)], ...programFiles(programs)])
  return withLibraries(files)
}

/** The shell and the programs of those names that this machine has, as they go into `/bin` of an image. */
export function programFiles(names: readonly string[]): Map<string, string> {
  const files = new Map([['bin/sh', realpathSync('/bin/sh')]])
  for (const name of names) {
    const source = ['/bin', '/usr/bin'].map((dir) => path.join(dir, name)).find(isFile)
    if (source) files.set(`bin/${name}`, realpathSync(source))
  }
  return files
}

/** With the shared libraries that they need. */
export function withLibraries(files: Map<string, string>): Map<string, string> {
  for (const source of [...files.values()]) {
    for (const library of sharedLibraries(source)) files.set(library.slice(1), realpathSync(library))
  }
  return files
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Absolute paths `ldd` names: the libraries and the loader. A static program has none (ldd then fails). */
function sharedLibraries(program: string): string[] {
  try {
    const text = execFileSync('ldd', [program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return [...text.matchAll(/(?:=>\s*)?(\/\S+)\s+\(0x/g)].map((match) => match[1]!)
  } catch {
    return []
  }
}

/** Makes an image of one layer; `settings` are lines of a Dockerfile such as CMD. */
export async function importImage(
  docker: Docker,
  repo: string,
  tag: string,
  files: ReadonlyMap<string, string>,
  settings: readonly string[],
): Promise<void> {
  const tar = pack()
  const filled = fill(tar, files)
  filled.catch((error) => tar.destroy(error))
  const libraryDirs = new Set(
    [...files.keys()].filter((name) => /\.so/.test(name)).map((name) => path.dirname(name)),
  )
  const changes = [
    'ENV PATH=/usr/local/bin:/usr/bin:/bin',
    `ENV LD_LIBRARY_PATH=${[...libraryDirs].map((dir) => `/${dir}`).join(':')}`,
    ...settings,
  ]
  const source = tar as unknown as NodeJS.ReadableStream
  const stream: NodeJS.ReadableStream = await docker.importImage(source, { repo, tag, changes })
  const answers = await new Promise<{ error?: string }[]>((resolve, reject) => {
    docker.modem.followProgress(stream, (error, output) => (error ? reject(error) : resolve(output)))
  })
  await filled
  const refused = answers.find((answer) => answer.error)
  if (refused) throw new Error(`the base image could not be imported: ${refused.error}`)
}

async function fill(tar: Pack, files: ReadonlyMap<string, string>): Promise<void> {
  for (const dir of ['app', 'etc', 'proc', 'sys', 'dev', 'root'])
    tar.entry({ name: dir, type: 'directory', mode: 0o755 })
  tar.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  tar.entry(
    { name: 'etc/passwd' },
    'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/app:/bin/sh\ndatabase:x:999:999::/tmp:/bin/sh\n',
  )
  tar.entry({ name: 'etc/group' }, 'root:x:0:\nnode:x:1000:\ndatabase:x:999:\n')
  for (const [name, source] of files) {
    const entry = tar.entry({ name, mode: 0o755, size: statSync(source).size })
    await pipeline(createReadStream(source), entry)
  }
  tar.finalize()
}
