import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'
import { type ListeningSocket, parseListening, tcpStates } from '../../listening-sockets.ts'

/** One row of /proc: CPU in milliseconds (waited-for children included), memory in bytes. */
export interface ProcessRow {
  pid: number
  parent: number
  session: number
  zombie: boolean
  cpuMs: number
  rssBytes: number
  /** Clock ticks since boot. */
  startTicks: number
}

// USER_HZ is 100 on every Linux that Node runs on; pages are 4 KiB except on some arm64 kernels.
const msPerTick = 10
const pageBytes = 4096

let bootId: string | null = null

/** Distinguishes a process from a later one with the same number; null if there is none. */
export function processIdentity(pid: number): string | null {
  const row = readProcess(pid)
  if (!row || row.zombie) return null
  return `${thisBoot()}:${row.startTicks}`
}

function thisBoot(): string {
  bootId ??= readText('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown'
  return bootId
}

export function readProcess(pid: number): ProcessRow | null {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat === null) return null
  // The command name is in parentheses and may contain anything, so count from the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const number = (index: number) => Number(fields[index])
  return {
    pid,
    parent: number(1),
    session: number(3),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    cpuMs: (number(11) + number(12) + number(13) + number(14)) * msPerTick,
    rssBytes: number(21) * pageBytes,
    startTicks: number(19),
  }
}

/** Memory that is not shared with other processes, in bytes; 0 if the process is gone. */
export function unsharedBytes(pid: number): number {
  const [, resident, shared] = (readText(`/proc/${pid}/statm`) ?? '').split(' ').map(Number)
  return Math.max(0, (resident ?? 0) - (shared ?? 0)) * pageBytes
}

export function readProcesses(): ProcessRow[] {
  return processIds()
    .map(readProcess)
    .filter((row) => row !== null)
}

/** The process, its descendants, and processes that stayed in its session after their parent died. */
export function treeOf(leader: number, rows: readonly ProcessRow[]): ProcessRow[] {
  const inTree = new Set([leader])
  for (let grew = true; grew; ) {
    grew = false
    for (const row of rows) {
      if (inTree.has(row.pid) || (row.session !== leader && !inTree.has(row.parent))) continue
      inTree.add(row.pid)
      grew = true
    }
  }
  return rows.filter((row) => inTree.has(row.pid))
}

/** The tree of a container, without the first two processes if they make its private root. */
export function programsOf(
  leader: number,
  rows: readonly ProcessRow[],
  request: { isRooted?: boolean } | null,
): ProcessRow[] {
  const tree = treeOf(leader, rows)
  return request?.isRooted ? tree.filter(({ pid, parent }) => pid !== leader && parent !== leader) : tree
}

/** The processes that were started with a certain HOME: finds those that left the tree. */
export function processesWithHome(pids: readonly number[], isWanted: (home: string) => boolean): number[] {
  return pids.filter((pid) => {
    const variable = readText(`/proc/${pid}/environ`)
      ?.split('\0')
      .find((text) => text.startsWith('HOME='))
    // /proc is read byte by byte (latin1), so decode the value as UTF-8.
    return variable !== undefined && isWanted(Buffer.from(variable.slice(5), 'latin1').toString())
  })
}

/** Program and arguments of a process; empty if it is gone. */
export function commandOf(pid: number): string[] {
  return (readText(`/proc/${pid}/cmdline`) ?? '')
    .split('\0')
    .map((word) => Buffer.from(word, 'latin1').toString())
}

/**
 * TCP sockets on which the processes listen. `hidden`: some processes belong to other users and their open files
 * cannot be read.
 */
export function listeningSockets(pids: readonly number[]): { sockets: ListeningSocket[]; hidden: boolean } {
  const listening = new Map(tables.flatMap((file) => [...parseListening(readText(file) ?? '')]))
  const inodes = pids.map(socketInodes)
  return {
    sockets: inodes.flatMap((of) => of ?? []).flatMap((inode) => listening.get(inode) ?? []),
    hidden: inodes.includes(null),
  }
}

/**
 * Whether any process of this machine uses the port, for listening or as its end of a connection. Reads /proc only:
 * opening a socket would accept connections of clients that wait for the port.
 */
export function isPortHeld(port: number): boolean {
  const held = new Set([tcpStates.established, tcpStates.synSent, tcpStates.listen])
  return tables.some((file) =>
    (readText(file) ?? '')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .some(([, local, , state]) => held.has(state!) && Number.parseInt(local!.split(':')[1]!, 16) === port),
  )
}

const tables = ['/proc/net/tcp', '/proc/net/tcp6']

/** Null if unreadable; empty for a process that is gone. */
function socketInodes(pid: number): string[] | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const match = /^socket:\[(\d+)\]$/.exec(linkOrEmpty(`/proc/${pid}/fd/${fd}`))
      return match ? [match[1]!] : []
    })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? null : []
  }
}

function linkOrEmpty(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

export function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

// One shared buffer: a new one for each read would add megabytes of garbage.
const buffer = Buffer.allocUnsafeSlow(65_536)

/** Null if the file cannot be read. */
export function readText(file: string): string | null {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch {
    return null
  }
  try {
    let text = ''
    for (;;) {
      const length = readSync(fd, buffer, 0, buffer.length, null)
      if (length === 0) return text
      text += buffer.toString('latin1', 0, length)
    }
  } catch {
    return null
  } finally {
    closeSync(fd)
  }
}
