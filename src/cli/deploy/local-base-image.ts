import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import Docker from 'dockerode'
import { type Pack, pack } from 'tar-stream'
import { dockerodeOptions, findDockerEndpoint } from '../../docker-endpoint.ts'

/** Increased with every change of the recipe below, so that older images are not reused. */
const recipe = 1

export interface NodeImage {
  /** The image for `FROM`. */
  image: string
  origin: 'present' | 'pulled' | 'made here'
  /** Removes the image if this call created it. */
  remove(): Promise<void>
}

/**
 * Ensures that an image with `node` and `/bin/sh` exists for a Dockerfile with `FROM <wanted>`: uses a present one, pulls
 * it, or builds one from this machine's Node.js without network. Throws when all of these fail.
 */
export async function ensureNodeImage(
  wanted: string,
  options: { pullTimeoutMs: number; docker?: Docker; signal?: AbortSignal },
): Promise<NodeImage> {
  const docker = options.docker ?? connectDocker()
  const keep = async () => {}
  if (await isPresent(docker, wanted)) return { image: wanted, origin: 'present', remove: keep }
  try {
    await pullImage(docker, wanted, options.pullTimeoutMs, options.signal)
    return { image: wanted, origin: 'pulled', remove: keep }
  } catch (error) {
    options.signal?.throwIfAborted()
    if (process.platform !== 'linux') throw error
    const { image, made } = await ensureLocalBaseImage(docker)
    const remove = async () => {
      await docker.getImage(image).remove()
    }
    return { image, origin: 'made here', remove: made ? remove : keep }
  }
}

/**
 * A base image from files of this Linux machine: its node as /usr/local/bin/node, its /bin/sh and their shared
 * libraries. Reused by a tag of its content; `made` is true if this call created it.
 */
export async function ensureLocalBaseImage(
  docker: Docker = connectDocker(),
): Promise<{ image: string; made: boolean }> {
  const files = imageFiles()
  const hash = createHash('sha256').update(String(recipe))
  for (const [name, source] of files) {
    const { size, mtimeMs } = statSync(source)
    hash.update(`${name} ${size} ${mtimeMs}\n`)
  }
  const repo = 'longshore-local-node'
  const tag = hash.digest('hex').slice(0, 12)
  const image = `${repo}:${tag}`
  const made = !(await isPresent(docker, image))
  if (made) await importImage(docker, repo, tag, files)
  return { image, made }
}

/** The engine that the platform uses. */
export function connectDocker(): Docker {
  return new Docker(dockerodeOptions(findDockerEndpoint()))
}

async function isPresent(docker: Docker, image: string): Promise<boolean> {
  return docker
    .getImage(image)
    .inspect()
    .then(
      () => true,
      (error: { statusCode?: number }) => {
        if (error.statusCode === 404) return false
        throw error
      },
    )
}

async function pullImage(
  docker: Docker,
  image: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.timeout(timeoutMs)
  const abortSignal = signal ? AbortSignal.any([limit, signal]) : limit
  const stream = (await docker.pull(image, { abortSignal })) as Readable
  abortSignal.addEventListener('abort', () => stream.destroy(new Error(`no answer within ${timeoutMs} ms`)), {
    once: true,
  })
  await finished(docker, stream)
}

/** The engine reports failures inside a response with status 200. */
async function finished(docker: Docker, stream: NodeJS.ReadableStream): Promise<void> {
  const answers = await new Promise<{ error?: string }[]>((resolve, reject) => {
    stream.once('error', reject)
    docker.modem.followProgress(stream, (error, output) => (error ? reject(error) : resolve(output)))
  })
  const refused = answers.find((answer) => answer.error)
  if (refused) throw new Error(refused.error)
}

/** Path in the image → path on this machine. */
export function imageFiles(): Map<string, string> {
  if (process.platform !== 'linux') throw new Error('A base image can only be built on Linux')
  const files = new Map([
    ['usr/local/bin/node', realpathSync(process.execPath)],
    ['bin/sh', realpathSync('/bin/sh')],
  ])
  for (const source of [...files.values()]) {
    for (const library of sharedLibraries(source)) files.set(library.slice(1), realpathSync(library))
  }
  return files
}

/** Absolute paths in the output of `ldd`: libraries and loader. Empty for a static program, for which ldd fails. */
function sharedLibraries(program: string): string[] {
  try {
    const text = execFileSync('ldd', [program], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return [...text.matchAll(/(?:=>\s*)?(\/\S+)\s+\(0x/g)].map((match) => match[1]!)
  } catch {
    return []
  }
}

async function importImage(docker: Docker, repo: string, tag: string, files: Map<string, string>) {
  const { tar, filling } = imageLayer(files)
  const changes = [...imageEnv(files).map((variable) => `ENV ${variable}`), 'CMD ["node"]']
  await finished(
    docker,
    await docker.importImage(tar as unknown as NodeJS.ReadableStream, { repo, tag, changes }),
  )
  await filling
}

/** The one layer of the image as a tar stream; `filling` ends when all files were read. */
export function imageLayer(files: Map<string, string>): { tar: Readable; filling: Promise<void> } {
  const tar = pack()
  const filling = fill(tar, files)
  filling.catch((error: Error) => (tar as unknown as Readable).destroy(error))
  return { tar: tar as unknown as Readable, filling }
}

export function imageEnv(files: Map<string, string>): string[] {
  const folders = [...files.keys()]
    .filter((name) => name.includes('.so'))
    .map((name) => `/${path.dirname(name)}`)
  return ['PATH=/usr/local/bin:/usr/bin:/bin', `LD_LIBRARY_PATH=${[...new Set(folders)].join(':')}`]
}

async function fill(tar: Pack, files: Map<string, string>): Promise<void> {
  for (const name of ['app', 'etc', 'proc', 'sys', 'dev', 'root'])
    tar.entry({ name, type: 'directory', mode: 0o755 })
  tar.entry({ name: 'tmp', type: 'directory', mode: 0o1777 })
  tar.entry({ name: 'etc/passwd' }, 'root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/app:/bin/sh\n')
  tar.entry({ name: 'etc/group' }, 'root:x:0:\nnode:x:1000:\n')
  for (const [name, source] of files) tar.entry({ name, mode: 0o755 }, await readFile(source))
  tar.finalize()
}
