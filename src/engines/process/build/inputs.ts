import { createHash, type Hash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { lstat, readdir, readlink } from 'node:fs/promises'
import path from 'node:path'
import type { BuildSpec } from '../../engine.ts'

/** They change when the machine's programs do, on which a build depends. */
const machineFolders = ['/usr/bin', '/usr/lib', '/usr/local/bin', '/usr/local/lib']

/** A digest of what the image of a build follows from: the source, the Dockerfile, its arguments and the machine's programs. */
export async function inputsOf(
  spec: BuildSpec,
  nodeImage: string | null,
  signal: AbortSignal,
): Promise<string> {
  const { contextDir, dockerfilePath, dockerfileContent, buildArgs, runsCommands } = spec
  const hash = createHash('sha256')
  const args = Object.entries(buildArgs).sort(([a], [b]) => (a < b ? -1 : 1))
  const machine = machineFolders.map((folder) => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? null)
  hash.update(
    JSON.stringify([
      ...[contextDir, dockerfilePath, dockerfileContent, runsCommands ?? false],
      ...[args, nodeImage, process.version, machine],
    ]),
  )
  await addFolder(hash, spec.sourceDir, signal)
  return hash.digest('hex')
}

async function addFolder(hash: Hash, folder: string, signal: AbortSignal): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    signal.throwIfAborted()
    const file = path.join(folder, name)
    const info = await lstat(file)
    const link = info.isSymbolicLink() ? await readlink(file) : null
    hash.update(JSON.stringify([name, info.mode, info.isFile() ? info.size : null, link]))
    if (info.isDirectory()) await addFolder(hash, file, signal)
    else if (info.isFile()) for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
    hash.update('\0')
  }
}
