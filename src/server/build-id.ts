import { fileURLToPath } from 'node:url'

declare const __LONGSHORE_BUILD__: string | undefined

/** Identifies the build, so that a gateway of an earlier build is replaced. */
export const buildId = typeof __LONGSHORE_BUILD__ === 'string' ? __LONGSHORE_BUILD__ : 'source'

/** Command that starts this program: Node and the bundled entry file. */
export const commandLine: readonly string[] = [process.execPath, entryFile()]

/** Chunks are in the same folder as the entry `longshore.js`. */
function entryFile(): string {
  return fileURLToPath(new URL('longshore.js', import.meta.url))
}
