import { Readable } from 'node:stream'
import { AppError } from '../errors.ts'
import { readFilesUrl } from './address.ts'
import type { Files } from './files.ts'
import { FolderFiles } from './folder.ts'
import { OverlaidFiles } from './overlaid.ts'

const marker = 'installation'

interface OpenedFiles {
  files: Files
  /** Outside the data directory: every control plane of the installation uses them. */
  hasSharedFiles: boolean
}

/**
 * Opens the storage that `url` (`LONGSHORE_FILES_URL`) names, by default the data directory. Throws `AppError` if the URL
 * cannot be used, if another installation uses that place, and if it does not answer.
 */
export async function openFiles(
  url: string | undefined,
  home: string,
  installationId: string,
): Promise<OpenedFiles> {
  const older = new FolderFiles(home)
  if (url === undefined) return { files: older, hasSharedFiles: false }
  const address = readFilesUrl(url)
  const shared =
    address.kind === 'folder'
      ? new FolderFiles(address.dir, { isShared: true })
      : // Loaded only if it is used: the library is large.
        new (await import('./bucket.ts')).BucketFiles(address)
  await claim(shared, installationId)
  return { files: new OverlaidFiles(shared, older), hasSharedFiles: true }
}

/** Files without a row are deleted, so two installations must never use one place. Also shows that it can be written. */
async function claim(files: Files, installationId: string): Promise<void> {
  const owner = await files.text(marker)
  if (owner !== null && owner.trim() !== installationId) {
    throw new AppError('invalid', 'LONGSHORE_FILES_URL names the files of another installation', {
      details: `It belongs to ${owner.trim().slice(0, 60)}, this one is ${installationId}. Choose another prefix or folder.`,
    })
  }
  await files.put(marker, Readable.from([Buffer.from(`${installationId}\n`)]))
}
