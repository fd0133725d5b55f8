import { readFileSync } from 'node:fs'
import type { PublishedTool } from './published-tool.ts'

/** Name of the file the build writes beside the bundle. */
export const prebuiltFile = 'mcp-prebuilt.json'

/** What the first requests of a stdio session are answered with, made once by the library and the converter. */
export interface Prebuilt {
  /** Result of `initialize` for a client of an unknown version: it names the newest one spoken here. */
  hello: { protocolVersion: string; [key: string]: unknown }
  /** Protocol versions spoken here. */
  versions: string[]
  tools: PublishedTool[]
}

/** Reads what was built; running from source, where nothing was, makes it now. */
export async function loadPrebuilt(): Promise<Prebuilt> {
  try {
    // Read at once: nothing can go on before it.
    return JSON.parse(readFileSync(new URL(prebuiltFile, import.meta.url), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const [{ tools }, { prebuild }] = await Promise.all([
    import('../../tools/index.ts'),
    import('./prebuild.ts'),
  ])
  return prebuild(tools)
}
