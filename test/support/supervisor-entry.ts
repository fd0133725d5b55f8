import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const project = fileURLToPath(new URL('../..', import.meta.url))
let entry: string[] | null = null

/**
 * `supervisorEntry` for `createProcessEngine` without a build of the whole command: bundles the supervisor
 * (about 50 ms, once a process) into the project's cache folder, named by its content.
 */
export function bundledSupervisorEntry(): string[] {
  if (entry) return entry
  const { outputFiles } = buildSync({
    entryPoints: [path.join(project, 'src/engines/process/supervisor-entry.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  })
  const { contents } = outputFiles[0]!
  const dir = path.join(project, 'node_modules/.cache/longshore')
  const file = path.join(
    dir,
    `supervisor-${createHash('sha256').update(contents).digest('hex').slice(0, 16)}.mjs`,
  )
  if (!existsSync(file)) {
    mkdirSync(dir, { recursive: true })
    // Test files run at the same time: nobody may start half a file.
    writeFileSync(`${file}.${process.pid}`, contents)
    renameSync(`${file}.${process.pid}`, file)
  }
  entry = [process.execPath, file]
  return entry
}
