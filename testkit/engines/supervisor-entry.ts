import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const project = fileURLToPath(new URL('../..', import.meta.url))
const entries = new Map<string, string[]>()

/** `supervisorEntry` for `createProcessEngine` without a build of the whole command. */
export function bundledSupervisorEntry(): string[] {
  return bundledEntry('src/engines/process/supervisor/entry.ts')
}

/**
 * Command line that runs a file of this project in a process of its own: bundles it (about 50 ms, once a process)
 * into the project's cache folder, named by its content.
 */
export function bundledEntry(source: string): string[] {
  const known = entries.get(source)
  if (known) return known
  const { outputFiles } = buildSync({
    entryPoints: [path.join(project, source)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    target: 'node20',
    logLevel: 'warning',
  })
  const { contents } = outputFiles[0]!
  const dir = path.join(project, 'node_modules/.cache/longshore')
  const digest = createHash('sha256').update(contents).digest('hex').slice(0, 16)
  const file = path.join(dir, `${path.basename(source, '.ts')}-${digest}.mjs`)
  if (!existsSync(file)) {
    mkdirSync(dir, { recursive: true })
    // Test files run in parallel, so the file must appear atomically.
    writeFileSync(`${file}.${process.pid}`, contents)
    renameSync(`${file}.${process.pid}`, file)
  }
  const entry = [process.execPath, file]
  entries.set(source, entry)
  return entry
}
