import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'

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

/** Tells one process from a later one with the same number; null when there is none. */
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
  // The command name is in parentheses and may hold anything, so count from the last one.
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

/** Memory that no other process shares, in bytes; 0 when it is gone. */
export function privateBytes(pid: number): number {
  const [, resident, shared] = (readText(`/proc/${pid}/statm`) ?? '').split(' ').map(Number)
  return Math.max(0, (resident ?? 0) - (shared ?? 0)) * pageBytes
}

export function readProcesses(): ProcessRow[] {
  return processIds()
    .map(readProcess)
    .filter((row) => row !== null)
}

/** The process, what it started, and what stayed in its session after its parent died. */
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

/** Which of the processes were started with a certain HOME: finds those that left the tree. */
export function processesWithHome(pids: readonly number[], isWanted: (home: string) => boolean): number[] {
  return pids.filter((pid) => {
    const variable = readText(`/proc/${pid}/environ`)
      ?.split('\0')
      .find((text) => text.startsWith('HOME='))
    // Read byte for byte (latin1), as everything of /proc, so make it text again.
    return variable !== undefined && isWanted(Buffer.from(variable.slice(5), 'latin1').toString())
  })
}

/** Program and arguments of a process; none when it is gone. */
export function commandOf(pid: number): string[] {
  return (readText(`/proc/${pid}/cmdline`) ?? '')
    .split('\0')
    .map((word) => Buffer.from(word, 'latin1').toString())
}

/** TCP ports the processes listen on. `host` is where a connection from this machine reaches it. */
export function listeningPorts(pids: readonly number[]): { host: string; port: number }[] {
  const sockets = new Map<string, { host: string; port: number }>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (readText(file) ?? '').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[3] !== tcpStates.listen) continue
      const [address = '', port = ''] = fields[1]!.split(':')
      sockets.set(fields[9]!, { host: reachableHost(address), port: Number.parseInt(port, 16) })
    }
  }
  return pids.flatMap((pid) => socketInodes(pid).flatMap((inode) => sockets.get(inode) ?? []))
}

/**
 * Whether any process of this machine holds the port, listening or as its end of a connection. Reads only: a socket
 * opened to find out would answer whoever is waiting for the port.
 */
export function isPortHeld(port: number): boolean {
  const held = new Set([tcpStates.established, tcpStates.synSent, tcpStates.listen])
  return ['/proc/net/tcp', '/proc/net/tcp6'].some((file) =>
    (readText(file) ?? '')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .some(([, local, , state]) => held.has(state!) && Number.parseInt(local!.split(':')[1]!, 16) === port),
  )
}

/** As the kernel writes them in /proc/net/tcp. */
const tcpStates = { established: '01', synSent: '02', listen: '0A' }

function reachableHost(hex: string): string {
  return hex === '00000000000000000000000001000000' ? '::1' : '127.0.0.1'
}

function socketInodes(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const match = /^socket:\[(\d+)\]$/.exec(linkOrEmpty(`/proc/${pid}/fd/${fd}`))
      return match ? [match[1]!] : []
    })
  } catch {
    return []
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

// One buffer for all reading: a new one each time would grow the supervisor by megabytes of garbage.
const buffer = Buffer.allocUnsafeSlow(65_536)

function readText(file: string): string | null {
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
