import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const source = fileURLToPath(new URL('../../src/engines/process/supervisor-entry.ts', import.meta.url))
let entry: string[] | null = null

/**
 * `supervisorEntry` for `createProcessEngine` without a build of the whole command: bundles the supervisor
 * (about 50 ms, once a process) into a temporary folder that goes when this process ends.
 */
export function bundledSupervisorEntry(): string[] {
  if (entry) return entry
  const dir = mkdtempSync(path.join(tmpdir(), 'longshore-supervisor-bundle-'))
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  const outfile = path.join(dir, 'supervisor.mjs')
  buildSync({
    entryPoints: [source],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  })
  entry = [process.execPath, outfile]
  return entry
}
