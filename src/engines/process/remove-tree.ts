import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'

/** Removes what programs wrote, also folders that they closed to their own user. Links are not followed. */
export async function removeTree(dir: string): Promise<void> {
  try {
    await remove(dir)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    await promisify(execFile)('chmod', ['-R', 'u+rwX', '--', dir])
    await remove(dir)
  }
}

function remove(dir: string): Promise<void> {
  // A process that is being killed may still write, so retry instead of failing.
  return rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
}
