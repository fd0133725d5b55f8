import { readFile } from 'node:fs/promises'
import type Docker from 'dockerode'
import type { ListenerReading } from '../engine.ts'
import { parseListening } from '../listening-sockets.ts'
import type { AddressMode } from './address-mode.ts'

/** The engine's own name server, in every container of a user-defined network. */
const embeddedDns = '127.0.0.11'

/** The sockets of a running container, read from /proc of its first process; works only on the same kernel. */
export async function readListeners(
  info: Docker.ContainerInspectInfo,
  addressMode: AddressMode,
): Promise<ListenerReading> {
  if (addressMode !== 'container ip') return unreadable('The container engine runs on another machine.')
  const addresses = Object.values(info.NetworkSettings.Networks ?? {}).map((one) => one.IPAddress)
  try {
    const read = (file: string) => readFile(`/proc/${info.State.Pid}/net/${file}`, 'utf8')
    // In another process namespace the number refers to another process, so check that its network has the
    // container's address.
    const routes = await read('fib_trie')
    if (!addresses.some((address) => address && routes.includes(`-- ${address}\n`))) {
      return unreadable('The container engine does not share the process numbers of this machine.')
    }
    const tables = await Promise.all(['tcp', 'tcp6'].map((file) => read(file).catch(() => '')))
    const sockets = tables.flatMap((text) => [...parseListening(text).values()])
    return { sockets: sockets.filter(({ address }) => address !== embeddedDns) }
  } catch {
    return unreadable('The container’s /proc cannot be read.')
  }
}

function unreadable(why: string): ListenerReading {
  return { sockets: [], unreadable: why }
}
