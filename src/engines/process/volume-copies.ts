import { addAbortListener } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import {
  chmod,
  lchown,
  link,
  lstat,
  lutimes,
  mkdir,
  readdir,
  readlink,
  rename,
  symlink,
} from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Header, type Pack, pack } from 'tar-stream'
import type { VolumeCopies, VolumeSpec } from '../volume-copies.ts'
import { eachEntry, notUtf8, type VolumeEntry } from '../volume-tar.ts'
import { removeTree } from './remove-tree.ts'
import { recoverVolume, replacedFolder, volumeFolder } from './volumes.ts'

/** Volumes are folders. A restore fills a new one beside the old one, which it then replaces. */
export function folderCopies(volumesDir: string): VolumeCopies {
  const folderOf = ({ appEnvId, mount }: VolumeSpec) => volumeFolder(volumesDir, appEnvId, mount.volume)
  return {
    dump(spec, signal) {
      const folder = folderOf(spec)
      recoverVolume(folder)
      return packFolder(folder, signal)
    },
    async load(spec, source, signal) {
      const folder = folderOf(spec)
      recoverVolume(folder)
      const [next, old] = [`${folder}.next`, replacedFolder(folder)]
      await removeTree(next)
      await mkdir(next, { recursive: true, mode: 0o700 })
      try {
        await fillFolder(next, source, signal)
      } catch (error) {
        await removeTree(next)
        throw error
      }
      await removeTree(old)
      await rename(folder, old).catch(ignoreMissing)
      await rename(next, folder)
      await removeTree(old)
    },
    async remove(spec) {
      const folder = folderOf(spec)
      for (const one of [folder, `${folder}.next`, replacedFolder(folder)]) await removeTree(one)
    },
  }
}

async function* packFolder(folder: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const tar = pack()
  const stopping = addAbortListener(signal, () => tar.destroy(signal.reason as Error))
  packBelow(tar, folder, '').then(
    () => tar.finalize(),
    (error) => tar.destroy(error),
  )
  try {
    yield* tar as AsyncIterable<Buffer>
  } finally {
    stopping[Symbol.dispose]()
  }
}

/** Files that go while they are copied are left out. */
async function packBelow(tar: Pack, folder: string, prefix: string): Promise<void> {
  for (const child of (await readdir(folder).catch(ignoreMissing)) ?? []) {
    // Decoded as text, it would be another name, which no file has.
    if (child.includes('\ufffd')) throw notUtf8(`${prefix}${child}`)
    const at = path.join(folder, child)
    const found = await lstat(at).catch(ignoreMissing)
    if (!found) continue
    const { mode, mtime, uid, gid } = found
    const header = { name: `${prefix}${child}`, mode: mode & 0o7777, mtime, uid, gid }
    if (found.isDirectory()) {
      await packEntry(tar, { ...header, type: 'directory' })
      await packBelow(tar, at, `${header.name}/`)
    } else if (found.isSymbolicLink()) {
      const linkname = await readlink(at).catch(ignoreMissing)
      if (linkname !== undefined) await packEntry(tar, { ...header, type: 'symlink', linkname })
    } else if (found.isFile())
      await pipeline(exactly(at, found.size), tar.entry({ ...header, type: 'file', size: found.size }))
  }
}

function packEntry(tar: Pack, header: Partial<Header> & { name: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    tar.entry(header, (error) => (error ? reject(error) : resolve()))
  })
}

/** As many bytes as its header says: a file may grow or shrink meanwhile. */
async function* exactly(file: string, size: number): AsyncGenerator<Buffer> {
  let missing = size
  if (size > 0) {
    const chunks = createReadStream(file, { end: size - 1 })
    try {
      for await (const chunk of chunks) {
        missing -= (chunk as Buffer).length
        yield chunk as Buffer
      }
    } catch (error) {
      ignoreMissing(error)
    }
  }
  for (; missing > 0; missing -= 65_536) yield Buffer.alloc(Math.min(missing, 65_536))
}

async function fillFolder(folder: string, source: Readable, signal: AbortSignal): Promise<void> {
  const folders: VolumeEntry[] = []
  await eachEntry(source, async (entry, content) => {
    signal.throwIfAborted()
    if (entry.type === 'directory') folders.push(entry)
    await write(folder, entry, content)
  })
  // Last, because a folder may be closed to its owner, and each file in it changes its time. Inner ones first.
  for (const entry of folders.reverse()) if (entry.name !== '') await finish(folder, entry)
}

async function write(folder: string, entry: VolumeEntry, content: AsyncIterable<Buffer>): Promise<void> {
  const at = path.join(folder, entry.name)
  if (entry.type === 'directory') {
    await mkdir(at, { recursive: true, mode: 0o700 })
    return
  }
  await mkdir(path.dirname(at), { recursive: true, mode: 0o700 })
  if (entry.type === 'link') return await link(path.join(folder, entry.linkname), at)
  if (entry.type === 'symlink') await symlink(entry.linkname, at)
  else await pipeline(content, createWriteStream(at, { flags: 'wx', mode: 0o600 }))
  await finish(folder, entry)
}

/** Owners are applied if this process may set them. Programs run as its own user, so none gets the rights of another. */
async function finish(folder: string, { name, type, mode, mtime, uid, gid }: VolumeEntry): Promise<void> {
  const at = path.join(folder, name)
  if (process.getuid?.() === 0) await lchown(at, uid, gid)
  if (type !== 'symlink') await chmod(at, mode & 0o777)
  await lutimes(at, mtime, mtime)
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
