import { fileURLToPath } from 'node:url'

declare const __LONGSHORE_BUILD__: string | undefined

/** Tells builds apart, so that a gateway of an earlier build makes way for the new one. */
export const buildId = typeof __LONGSHORE_BUILD__ === 'string' ? __LONGSHORE_BUILD__ : 'source'

/** How this program is started again: Node and the bundled entry file. */
export const commandLine: readonly string[] = [process.execPath, entryFile()]

/** Chunks lie beside the entry `longshore.js`. */
function entryFile(): string {
  return fileURLToPath(new URL('longshore.js', import.meta.url))
}
