import type { Duplex, Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type Docker from 'dockerode'
import { type DatabaseTool, toolFailure } from '../database-tools.ts'
import { type DatabaseSpec, EngineFailure } from '../engine.ts'
import { drained } from '../redis-connection.ts'
import { asked, askedInTime } from './docker-client.ts'
import { readFrames } from './docker-logs.ts'

const keptErrorBytes = 16_384

/** Runs it inside the database's own container, where its programs are. Variables go in the request's body. */
export async function runDatabaseTool(
  container: Docker.Container,
  tool: DatabaseTool,
  database: DatabaseSpec,
  streams: { input?: Readable; output?: Writable; signal: AbortSignal },
): Promise<void> {
  const { input, output, signal } = streams
  const exec = await askedInTime((abortSignal) =>
    container.exec({
      Cmd: ['/bin/sh', '-c', tool.script],
      Env: Object.entries(tool.env).map(([name, value]) => `${name}=${value}`),
      AttachStdin: input !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      abortSignal,
    }),
  )
  const pipe: Duplex = await asked(exec.start({ hijack: true, stdin: true }))
  const cut = () => pipe.destroy()
  signal.addEventListener('abort', cut, { once: true })
  try {
    const [fed, said] = await Promise.allSettled([
      input ? pipeline(input, pipe, { end: true }) : null,
      readAnswer(pipe, output),
    ])
    signal.throwIfAborted()
    if (said.status === 'rejected') throw said.reason
    const { ExitCode } = await askedInTime((abortSignal) => exec.inspect({ abortSignal }))
    if (ExitCode !== 0) throw new EngineFailure('database', toolFailure(said.value, database))
    if (fed.status === 'rejected') throw fed.reason
  } finally {
    signal.removeEventListener('abort', cut)
    pipe.destroy()
  }
}

/** Output to where it goes, at its pace; answers what was said on standard error. */
async function readAnswer(pipe: Duplex, output: Writable | undefined): Promise<string> {
  let said = ''
  for await (const { stream, payload } of readFrames(pipe)) {
    if (stream === 'stderr') said = (said + payload.toString('utf8')).slice(0, keptErrorBytes)
    else if (output && !output.write(payload)) await drained(output)
  }
  return said
}
