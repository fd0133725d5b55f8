import { addAbortListener } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { spawnChild } from '../../../spawn-child.ts'
import { type DatabaseTool, toolFailure } from '../../database-tools.ts'
import { type DatabaseSpec, EngineFailure } from '../../engine.ts'
import type { Bind, PrivateRoot } from '../private-root/private-root.ts'
import { removeTree } from '../remove-tree.ts'

const keptErrorBytes = 16_384

/** Standard input and output of the tool; an absent stream is closed. */
interface ToolStreams {
  input?: Readable
  output?: Writable
}

interface ToolOptions {
  path: string
  signal: AbortSignal
  /** Where the tool runs, with the folders of its programs; absent if this machine offers none. */
  inside?: { privateRoot: PrivateRoot; binds: Bind[] } | null
}

/** Runs the tool as a child of this process. It ends when the pipes to this process close. */
export async function runDatabaseTool(
  tool: DatabaseTool,
  database: DatabaseSpec,
  streams: ToolStreams,
  around: ToolOptions,
): Promise<void> {
  const env = { PATH: around.path, LANG: 'C.UTF-8', HOME: '/nonexistent', ...tool.env }
  const command = { argv: ['/bin/sh', '-c', tool.script], cwd: '/', env }
  if (!around.inside) return await runCommand(command, database, streams, around.signal)
  const { privateRoot, binds } = around.inside
  const dir = await mkdtemp(path.join(privateRoot.dir, 'tool-'))
  try {
    const inside = privateRoot.inside({ dir, image: null, binds }, command)
    await runCommand(inside, database, streams, around.signal)
  } finally {
    await removeTree(dir)
  }
}

async function runCommand(
  { argv, cwd, env }: { argv: string[]; cwd: string; env: Record<string, string> },
  database: DatabaseSpec,
  streams: ToolStreams,
  signal: AbortSignal,
): Promise<void> {
  const child = spawnChild(argv[0]!, argv.slice(1), {
    cwd,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  // The shell has children of its own, which hold its streams open: all of its group end.
  const stopping = addAbortListener(signal, () => killGroup(child.pid))
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 137))
  })
  let errorText = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(0, keptErrorBytes)
  })
  child.stdin.on('error', () => {})
  if (!streams.output) child.stdout.resume()
  const [code, read, written] = await Promise.allSettled([
    ended,
    streams.input ? pipeline(streams.input, child.stdin) : child.stdin.end(),
    streams.output ? pipeline(child.stdout, streams.output, { end: false }) : null,
  ])
  stopping[Symbol.dispose]()
  signal.throwIfAborted()
  if (code.status === 'rejected') throw code.reason
  if (code.value !== 0) throw new EngineFailure('database', toolFailure(errorText, database))
  if (read.status === 'rejected') throw read.reason
  if (written.status === 'rejected') throw written.reason
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
