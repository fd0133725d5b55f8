import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type DatabaseTool, toolFailure } from '../database-tools.ts'
import { type DatabaseSpec, EngineFailure } from '../engine.ts'

const keptErrorBytes = 16_384

/** Where the tool reads from and writes to; what is absent is closed. */
export interface ToolStreams {
  input?: Readable
  output?: Writable
}

/** Runs it as a child of this process: it ends with the pipes between the two, so nothing is left of it. */
export async function runDatabaseTool(
  tool: DatabaseTool,
  database: DatabaseSpec,
  streams: ToolStreams,
  around: { path: string; signal: AbortSignal },
): Promise<void> {
  const child = spawn('/bin/sh', ['-c', tool.script], {
    cwd: '/',
    env: { PATH: around.path, LANG: 'C.UTF-8', HOME: '/nonexistent', ...tool.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: around.signal,
  })
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 137))
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, keptErrorBytes)
  })
  if (!streams.output) child.stdout.resume()
  const [code, read, written] = await Promise.allSettled([
    ended,
    streams.input ? pipeline(streams.input, child.stdin) : child.stdin.end(),
    streams.output ? pipeline(child.stdout, streams.output, { end: false }) : null,
  ])
  around.signal.throwIfAborted()
  if (code.status === 'rejected') throw code.reason
  if (code.value !== 0) throw new EngineFailure('database', toolFailure(said, database))
  if (read.status === 'rejected') throw read.reason
  if (written.status === 'rejected') throw written.reason
}
