import { readFileSync } from 'node:fs'
import { type Prebuilt, prebuiltFile } from '../mcp/tools/prebuilt.ts'

/** Reads the prebuilt file; generates it when running from source. */
export async function loadPrebuilt(): Promise<Prebuilt> {
  try {
    // Synchronous, because every later step needs it.
    return JSON.parse(readFileSync(new URL(prebuiltFile, import.meta.url), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const [{ tools }, { prebuild }] = await Promise.all([
    import('../../tools/index.ts'),
    import('../mcp/tools/prebuild.ts'),
  ])
  return prebuild(tools)
}
