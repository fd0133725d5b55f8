import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import path from 'node:path'
import { type ContainerSpec, EngineFailure } from '../engine.ts'
import { assertFileName } from './engine-files.ts'
import { ImagePaths } from './image-paths.ts'
import type { Bind } from './private-root/private-root.ts'
import { removeTree } from './remove-tree.ts'

/** Holds the image's own content of a mounted path; next to `root`, not in it. */
const coveredFolder = 'covered'

/**
 * Creates a link to each volume at its mount path and removes links to volumes that are no longer mounted. Containers
 * of one version share one file tree, and a version belongs to one environment, so a link in the tree is enough. An
 * empty volume starts with the image's content at its path.
 */
export function mountVolumes(spec: ContainerSpec, root: string, volumesDir: string): void {
  const paths = new ImagePaths(root, null)
  const covered = path.join(path.dirname(root), coveredFolder)
  const mounts = spec.mounts ?? []
  uncover(paths, covered, new Set(mounts.map((mount) => coverName(mount.path))))
  for (const mount of mounts) {
    const volume = volumeFolder(volumesDir, spec.appEnvId, mount.volume)
    recoverVolume(volume)
    mkdirSync(volume, { recursive: true, mode: 0o700 })
    linkVolume(paths, covered, mount.path, volume)
  }
}

/** As `mountVolumes`, for a private root, in which the volumes are mounted. */
export function volumeBinds(spec: ContainerSpec, paths: ImagePaths, volumesDir: string): Bind[] {
  return (spec.mounts ?? []).map((mount) => {
    const volume = volumeFolder(volumesDir, spec.appEnvId, mount.volume)
    recoverVolume(volume)
    mkdirSync(volume, { recursive: true, mode: 0o700 })
    const covers = path.join(path.dirname(paths.root), coveredFolder, coverName(mount.path))
    const link = lstatSync(paths.toHost(mount.path), { throwIfNoEntry: false })
    // Versions without private roots made links, which old containers may still use.
    if (link?.isSymbolicLink() && existsSync(covers))
      return { from: volume, to: readlinkSync(paths.toHost(mount.path)), access: 'rw' }
    const content = paths.forWriting(mount.path)
    const found = lstatSync(content, { throwIfNoEntry: false })
    if (found && !found.isDirectory()) throw fileInPlace(mount.path)
    if (found && readdirSync(volume).length === 0)
      cpSync(content, volume, {
        recursive: true,
        verbatimSymlinks: true,
        filter: (file) => !lstatSync(file).isCharacterDevice(),
      })
    return { from: volume, to: mount.path, access: 'rw' }
  })
}

export function volumeFolder(volumesDir: string, appEnvId: string, volume: string): string {
  return path.join(volumesDir, assertFileName(appEnvId), assertFileName(volume))
}

/** Where a restore puts the files that it replaces; a name that no volume has, because of the dot. */
export function replacedFolder(folder: string): string {
  return `${folder}.old`
}

/** A restore that was killed while it replaced the folder may leave the old files beside it. They are put back. */
export function recoverVolume(folder: string): void {
  const old = replacedFolder(folder)
  if (!existsSync(folder) && existsSync(old)) renameSync(old, folder)
}

export async function removeVolumes(volumesDir: string, appEnvId: string): Promise<void> {
  await removeTree(path.join(volumesDir, assertFileName(appEnvId)))
}

function linkVolume(paths: ImagePaths, covered: string, mountPath: string, volume: string): void {
  const at = paths.toHost(mountPath)
  const cover = path.join(covered, coverName(mountPath))
  if (existsSync(cover)) {
    // Already a link to a volume; only its target may have changed.
    if (lstatSync(at, { throwIfNoEntry: false })) {
      if (readlinkSync(at) === volume) return
      unlinkSync(at)
    }
    symlinkSync(volume, at)
    return
  }
  const found = lstatSync(at, { throwIfNoEntry: false })
  if (found && !found.isDirectory()) throw fileInPlace(mountPath)
  // Fails if a link on the way leads out of the image.
  mkdirSync(paths.forWriting(path.posix.dirname(mountPath)), { recursive: true })
  mkdirSync(covered, { recursive: true })
  if (found) {
    if (readdirSync(volume).length === 0) cpSync(at, volume, { recursive: true, verbatimSymlinks: true })
    renameSync(at, cover)
  } else mkdirSync(cover, { recursive: true })
  symlinkSync(volume, at)
}

function fileInPlace(mountPath: string): EngineFailure {
  return new EngineFailure(
    'exited',
    `The image holds a file at ${mountPath}, where the volume belongs. Choose another mountPath.`,
  )
}

/** Removes links without a mount and restores the image's content. */
function uncover(paths: ImagePaths, covered: string, kept: ReadonlySet<string>): void {
  if (!existsSync(covered)) return
  for (const name of readdirSync(covered)) {
    if (kept.has(name)) continue
    const at = paths.toHost(Buffer.from(name, 'base64url').toString())
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) unlinkSync(at)
    renameSync(path.join(covered, name), at)
  }
}

function coverName(mountPath: string): string {
  return Buffer.from(path.posix.normalize(mountPath)).toString('base64url')
}
