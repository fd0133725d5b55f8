import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pause } from './on-cluster.ts'

/** Programs of the control plane that a fault may hit. */
const names = ['apiserver', 'controller-manager', 'scheduler']
const awayMs = 2_000

interface Program {
  name: string
  isOver(): boolean
  restart(): Promise<void>
}

/** Programs whose pid files (`pid start`) `CLUSTER_PIDS` has, a folder; none without it. */
export function controlPlane(dir = process.env.CLUSTER_PIDS): Program[] {
  if (dir === undefined) return []
  if (!existsSync(dir)) throw new Error(`CLUSTER_PIDS: ${dir} does not exist`)
  return names.flatMap((name) => {
    const file = path.join(dir, name)
    return existsSync(file) ? [programOf(name, file)] : []
  })
}

function programOf(name: string, file: string): Program {
  const pid = () => Number(readFileSync(file, 'utf8').split(' ')[0])
  // Now: one that loses the API server for too long ends by itself.
  const [program, ...args] = readFileSync(`/proc/${pid()}/cmdline`, 'utf8').split('\0').slice(0, -1)
  if (program === undefined) throw new Error(`${file}: no program runs with the pid ${pid()}`)
  const isOver = () => !existsSync(`/proc/${pid()}`)
  const restart = async () => {
    if (!isOver()) process.kill(pid(), 'SIGKILL')
    await pause(awayMs)
    const child = spawn(program, args, { detached: true, stdio: 'ignore' })
    child.unref()
    const startedAt = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]
    writeFileSync(file, `${child.pid} ${startedAt}\n`)
  }
  return { name, isOver, restart }
}
