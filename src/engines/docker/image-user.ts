import { text } from 'node:stream/consumers'
import type Docker from 'dockerode'
import { EngineFailure, type ImageCommand } from '../engine.ts'
import { eachEntry, type Owner } from '../volume-tar.ts'
import { orNull, requestInTime } from './client.ts'

/** Limit for the passwd and group files, which the author of the image wrote. */
const mostBytes = 256 * 1024

/** The USER of an image; empty for root. */
export async function userOf(docker: Docker, image: string): Promise<string> {
  const found = await orNull(
    requestInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  return found?.Config?.User ?? ''
}

export async function commandOf(docker: Docker, image: string): Promise<ImageCommand | null> {
  const found = await orNull(
    requestInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  const [entrypoint, cmd] = [found?.Config?.Entrypoint, found?.Config?.Cmd].map((words) =>
    [words ?? []].flat(),
  )
  return entrypoint!.length + cmd!.length === 0 ? null : { entrypoint: entrypoint!, cmd: cmd! }
}

/**
 * The numeric ids of a user, from the files of the container's image: Docker itself would read those of its host.
 * Undefined for an unknown name; no container starts with one.
 */
export async function ownerOf(holder: Docker.Container, user: string): Promise<Owner | undefined> {
  const [name = '', group = ''] = user.split(':')
  const users = await linesOf(holder, '/etc/passwd')
  const known = users.find(([own, , uid]) => own === name || uid === name)
  const uid = numberIn(known?.[2] ?? name)
  if (uid === null) return undefined
  if (group === '') return { uid, gid: numberIn(known?.[3] ?? '') ?? 0 }
  const groups = await linesOf(holder, '/etc/group')
  const gid = numberIn(groups.find(([own]) => own === group)?.[2] ?? group)
  return gid === null ? undefined : { uid, gid }
}

function numberIn(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null
}

async function linesOf(holder: Docker.Container, path: string): Promise<string[][]> {
  const tar = await orNull(requestInTime((abortSignal) => holder.getArchive({ path, abortSignal } as never)))
  if (!tar) return []
  let found = ''
  await eachEntry(tar as AsyncIterable<Buffer>, async ({ size = 0 }, content) => {
    if (size > mostBytes)
      throw new EngineFailure('not supported', `The file ${path} of the image is larger than 256 KiB.`)
    found = await text(content)
  })
  return found.split(/\n+/).map((line) => line.split(':'))
}
