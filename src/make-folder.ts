import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'

/** Parents first, one by one: Node's recursive mkdir never returns if a folder cannot be created, as in /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(path.dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
