import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ensureNodeBaseImage, removeInstallation } from '../engines/docker-images.ts'
import { ProcessInstallation } from '../engines/process-installation.ts'
import { bundledSupervisorEntry } from '../engines/supervisor-entry.ts'
import { type StressEngine, stressEngine } from './stress-engine.ts'

/** Start and end times reported by the containers, by name. */
export type Witness = Map<string, { begins: number[]; ends: number[] }>

/** An engine with an image, and a way to observe which containers really ran. */
export interface StressSetup {
  engine: StressEngine
  image: string
  /** Shell text that reports `begin`, and `end` unless it is killed. */
  prologue: string
  env: Record<string, string>
  ttlSecondsAfterFinished: number
  witness(): Promise<Witness>
  /** `kill -9` of the engine; null where it is shared with others. */
  killEngine: (() => void) | null
  close(): Promise<void>
}

/** A canceled container lingers for a while, which reveals limits that do not count it. */
const traps = 'trap "say end" EXIT; trap "sleep 0.5; exit 143" TERM; say begin; '

/** The containers report to this process, so that they can be removed while the test runs. */
export async function processSetup(): Promise<StressSetup> {
  const installation = await ProcessInstallation.create()
  const { image } = await installation.build(await installation.open(), {
    Dockerfile: 'FROM node:20-alpine\nCMD ["true"]\n',
  })
  const seen: Witness = new Map()
  const server = createServer((request, response) => {
    const [, what, container, atMs] = (request.url ?? '').split('/')
    add(seen, String(container), what, Number(atMs))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  // Without a private root the host name is that of the machine.
  const name = 'n=$' + '{HOME%/home}; n=$' + '{n##*/}; [ "$n" = root ] && n=$(uname -n); '
  const tell = "require('http').get([process.env.WITNESS, ...process.argv.slice(1), Date.now()].join('/'))"
  return {
    engine: { kind: 'process', home: installation.home, supervisorEntry: bundledSupervisorEntry() },
    image,
    prologue: `${name}say() { node -e "${tell}" "$1" "$n"; }; ${traps}`,
    env: { WITNESS: `http://127.0.0.1:${port}` },
    ttlSecondsAfterFinished: 300,
    witness: async () => seen,
    killEngine() {
      for (const pid of supervisorsOf(installation.home)) process.kill(pid, 'SIGKILL')
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await installation.destroy()
    },
  }
}

/** The containers are kept to the end and their logs checked: one that was started twice logs `begin` twice. */
export async function dockerSetup(): Promise<StressSetup> {
  const engine = { kind: 'docker', installationId: `stress-${randomBytes(6).toString('hex')}` } as const
  return {
    engine,
    image: await ensureNodeBaseImage(),
    prologue: `say() { echo "$1"; }; ${traps}`,
    env: {},
    ttlSecondsAfterFinished: 31_536_000,
    async witness() {
      const seen: Witness = new Map()
      const docker = stressEngine(engine)
      await docker.open()
      const how = { since: null, follow: false, signal: new AbortController().signal }
      for (const { name } of await docker.list()) {
        for await (const { message, timestamp } of docker.logs(name, how))
          add(seen, name, message, Date.parse(timestamp))
      }
      await docker.close()
      return seen
    },
    killEngine: null,
    close: () => removeInstallation(engine.installationId),
  }
}

function add(seen: Witness, name: string, what: string | undefined, atMs: number): void {
  const one = seen.get(name) ?? { begins: [], ends: [] }
  one[what === 'begin' ? 'begins' : 'ends'].push(atMs)
  seen.set(name, one)
}

/** Supervisors of one data directory, by their command line. */
function supervisorsOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words[words.indexOf('--home') + 1] === home && words.includes('--home')
      } catch {
        return false
      }
    })
}
