import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pause } from './bed.ts'

/** Programs of the control plane that a fault may hit. */
const names = ['apiserver', 'controller-manager', 'scheduler']
const awayMs = 2_000

/** Programs whose pid files `CLUSTER_PIDS` has, a folder; none without it. */
export function controlPlane(dir = process.env.CLUSTER_PIDS): string[] {
  if (dir === undefined) return []
  if (!existsSync(dir)) throw new Error(`CLUSTER_PIDS: ${dir} does not exist`)
  return readdirSync(dir).flatMap((name) => (names.includes(name) ? [path.join(dir, name)] : []))
}

/** Kills the program of a pid file (`pid start`), and starts it again with the same arguments after a while. */
export async function restartProgram(file: string): Promise<void> {
  const pid = Number(readFileSync(file, 'utf8').split(' ')[0])
  const [program, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  if (program === undefined) throw new Error(`${file}: no program runs with the pid ${pid}`)
  process.kill(pid, 'SIGKILL')
  await pause(awayMs)
  const child = spawn(program, args, { detached: true, stdio: 'ignore' })
  child.unref()
  const startedAt = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[19]
  writeFileSync(file, `${child.pid} ${startedAt}\n`)
}
