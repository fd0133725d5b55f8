import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'
import { type BuildSpec, EngineFailure } from '../engine.ts'
import { parseDockerignore } from './dockerignore.ts'
import { assertReadable, longestText } from './readings.ts'

/** The paths left out of the tar. Names are relative to the context, with forward slashes. */
interface ContextFilter {
  leavesOut(name: string): Promise<boolean>
  /** Whether a folder that is left out can be skipped, because nothing below it is included again. */
  prunes(folder: string): boolean
}

interface BuildContext {
  /** The tar the engine builds from; destroy it if the engine does not read it to the end. */
  tar: Pack
  /** Name of the Dockerfile inside the tar. */
  dockerfile: string
}

/**
 * Streams the context as a tar without the paths in `<Dockerfile>.dockerignore`, else `.dockerignore`. The Dockerfile is
 * always included. Links are sent as links, never followed. Throws `no Dockerfile` or `bad archive`.
 */
export async function openContext(spec: BuildSpec): Promise<BuildContext> {
  const contextDir = await contextFolder(spec)
  const own = spec.dockerfileContent === null ? null : generatedDockerfile(spec.dockerfileContent)
  const dockerfile = own?.name ?? (await sentDockerfile(contextDir, spec.dockerfilePath))
  const special = own ? null : await readDockerignore(contextDir, `${spec.dockerfilePath}.dockerignore`)
  const dockerignore = special ?? (await readDockerignore(contextDir, '.dockerignore'))
  const filter = filterOf(dockerignore ?? '')
  const tar = pack()
  const texts = new Map<string, string>()
  if (own) texts.set(own.name, own.text).set('.dockerignore', hiding(own.name, dockerignore))
  // The classic builder reads no other list, and applies this one again.
  else if (special !== null) texts.set('.dockerignore', special)
  const filled = fill(tar, contextDir, own ? filter : withDockerfile(filter, dockerfile), texts)
  filled.catch((cause) => {
    tar.destroy(
      new EngineFailure('bad archive', 'The source could not be read as a build context.', { cause }),
    )
  })
  return { tar, dockerfile }
}

/** The text the engine will build from. Throws like `openContext`, and `build step` if the text is too long. */
export async function readDockerfile(spec: BuildSpec): Promise<string> {
  const text = spec.dockerfileContent ?? (await readSentDockerfile(spec))
  assertReadable(text)
  return text
}

async function readSentDockerfile(spec: BuildSpec): Promise<string> {
  const contextDir = await contextFolder(spec)
  const file = path.join(contextDir, await sentDockerfile(contextDir, spec.dockerfilePath))
  // Read at most one byte more than allowed, so that a huge file is rejected without loading it.
  const chunks = await createReadStream(file, { end: longestText }).toArray()
  return Buffer.concat(chunks as Buffer[]).toString('utf8')
}

/** Null if there is none. A link is not read: its target could be outside the source and end up in the image. */
async function readDockerignore(contextDir: string, name: string): Promise<string | null> {
  const file = path.join(contextDir, name)
  const found = await lstat(file).catch(() => null)
  if (!found?.isFile()) return null
  if (found.size > longestText) {
    throw new EngineFailure('build step', `${name} is longer than ${longestText / 1024} KiB; use wildcards.`)
  }
  return await readFile(file, 'utf8')
}

function filterOf(dockerignore: string): ContextFilter {
  const rules = parseDockerignore(dockerignore)
  return {
    leavesOut: (name) => rules.isIgnored(name),
    prunes: () => rules.prunes,
  }
}

/** The real path of the context. Throws `no Dockerfile`. */
export async function contextFolder(spec: BuildSpec): Promise<string> {
  const sourceDir = await realpath(spec.sourceDir)
  const contextDir = await realpath(path.join(sourceDir, spec.contextDir)).catch(() => null)
  const isFolder = contextDir !== null && (await stat(contextDir)).isDirectory()
  if (!isFolder || !isWithin(contextDir, sourceDir)) {
    throw new EngineFailure(
      'no Dockerfile',
      `The source has no folder ${JSON.stringify(spec.contextDir)}. Set contextDir to one it has.`,
    )
  }
  return contextDir
}

async function sentDockerfile(contextDir: string, dockerfilePath: string): Promise<string> {
  const file = path.join(contextDir, dockerfilePath)
  const real = await realpath(file).catch(() => null)
  if (
    real === null ||
    !isWithin(file, contextDir) ||
    !isWithin(real, contextDir) ||
    !(await stat(real)).isFile()
  ) {
    throw new EngineFailure(
      'no Dockerfile',
      `The source has no Dockerfile at ${JSON.stringify(dockerfilePath)} in its context folder. ` +
        'Add one, or set dockerfilePath to where it is.',
    )
  }
  // A linked Dockerfile is sent under the name of its target, which is inside the context too.
  return path.relative(contextDir, real).split(path.sep).join('/')
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer + path.sep)
}

/** The name is derived from the text, so that the same text hits the engine's cache again. */
function generatedDockerfile(text: string): { name: string; text: string } {
  return {
    name: `.longshore-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.Dockerfile`,
    text,
  }
}

/** The `.dockerignore` that makes the engine drop the generated file (and itself, if the source has none). */
function hiding(dockerfile: string, dockerignore: string | null): string {
  return dockerignore === null ? `${dockerfile}\n.dockerignore\n` : `${dockerignore}\n${dockerfile}\n`
}

/** The engine needs the Dockerfile and `.dockerignore`; it drops ignored ones itself. */
function withDockerfile(filter: ContextFilter, dockerfile: string): ContextFilter {
  return {
    leavesOut: async (name) =>
      name !== dockerfile && name !== '.dockerignore' && (await filter.leavesOut(name)),
    prunes: (folder) => !dockerfile.startsWith(`${folder}/`) && filter.prunes(folder),
  }
}

async function fill(
  tar: Pack,
  contextDir: string,
  filter: ContextFilter,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, text] of texts) tar.entry({ name, mode: 0o644 }, text)
  await addFolder(tar, contextDir, '', filter, texts)
  tar.finalize()
}

async function addFolder(
  tar: Pack,
  contextDir: string,
  folder: string,
  filter: ContextFilter,
  texts: ReadonlyMap<string, string>,
): Promise<void> {
  const names = (await readdir(path.join(contextDir, folder))).sort()
  for (const base of names) {
    const name = folder === '' ? base : `${folder}/${base}`
    if (tar.destroyed) return
    if (texts.has(name)) continue
    const file = path.join(contextDir, name)
    const found = await lstat(file)
    const leftOut = await filter.leavesOut(name)
    const head = { name, mode: found.mode & 0o7777, mtime: found.mtime }
    if (found.isDirectory()) {
      if (!leftOut) tar.entry({ ...head, type: 'directory' })
      if (!leftOut || !filter.prunes(name)) await addFolder(tar, contextDir, name, filter, texts)
    } else if (leftOut) {
      // Left out.
    } else if (found.isSymbolicLink()) tar.entry({ ...head, type: 'symlink', linkname: await readlink(file) })
    // Sockets, pipes and devices are not allowed in an image.
    else if (found.isFile()) await pipeline(createReadStream(file), tar.entry({ ...head, size: found.size }))
  }
}
