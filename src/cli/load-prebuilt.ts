import { readFileSync } from 'node:fs'
import { type Prebuilt, prebuiltFile } from '../mcp/prebuilt.ts'

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
    import('../mcp/prebuild.ts'),
  ])
  return prebuild(tools)
}
