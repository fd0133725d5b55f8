import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { OwnedThing } from '../engine.ts'
import type { EngineFiles } from './engine-files.ts'
import type { ImageStore } from './image-store.ts'

/** What the folders of the engine hold, each with its environment. */
export async function ownedFolders(files: EngineFiles, images: ImageStore): Promise<OwnedThing[]> {
  const builds = (await images.list()).map(
    ({ contentId, appEnvId }): OwnedThing => ({ kind: 'image', name: contentId, appEnvId }),
  )
  const volumes = (await namesIn(files.volumes)).map(
    (appEnvId): OwnedThing => ({ kind: 'volume', name: appEnvId, appEnvId }),
  )
  const containers = await Promise.all(
    (await namesIn(files.containers)).map(
      async (name): Promise<OwnedThing> => ({
        kind: 'container',
        name,
        appEnvId: await environmentOf(path.join(files.containers, name, 'record.json')),
      }),
    ),
  )
  return [...containers, ...builds, ...volumes]
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

async function environmentOf(file: string): Promise<string | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')).appEnvId ?? null
  } catch {
    return null
  }
}
