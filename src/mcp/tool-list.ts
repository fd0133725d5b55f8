import { readFile } from 'node:fs/promises'
import { type Exposure, type ListedTool, listedTools, type PublishedTool } from './published-tool.ts'

/** Name of the file the build writes beside the bundle: every tool, its schemas converted. */
export const toolListFile = 'tool-list.json'

/** The list a stdio server answers with, ready-made, so that neither contract nor converter is loaded for it. */
export async function loadToolList(exposure: Exposure): Promise<ListedTool[]> {
  return listedTools(await readPublished(), exposure)
}

async function readPublished(): Promise<PublishedTool[]> {
  try {
    return JSON.parse(await readFile(new URL(toolListFile, import.meta.url), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  // Running from source: there was no build.
  const [{ tools }, { publishTools }] = await Promise.all([
    import('../../tools/index.ts'),
    import('./publish-tools.ts'),
  ])
  return publishTools(tools)
}
