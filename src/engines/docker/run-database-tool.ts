import { addAbortListener } from 'node:events'
import type { Duplex, Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type Docker from 'dockerode'
import type { DatabaseAccess } from '../../domain/backups/backup.ts'
import { raceAbort } from '../../race-abort.ts'
import {
  type DatabaseTool,
  dumpTool,
  dumpWith,
  loadTool,
  passwordTool,
  toLoad,
  toolFailure,
} from '../database-tools.ts'
import { type CopySource, type DatabaseSpec, EngineFailure, type RestoreSpec } from '../engine.ts'
import { drained } from '../redis/connection.ts'
import { changeRedisPassword, dumpRedis, loadRedis } from '../redis/copy.ts'
import { engineCall, requestInTime } from './client.ts'
import { readFrames } from './logs.ts'

const keptErrorBytes = 16_384

/** Looked up only where a tool runs inside it. */
type Container = () => Promise<Docker.Container>

export async function dumpDatabase(
  container: Container,
  database: DatabaseSpec,
  output: Writable,
  signal: AbortSignal,
): Promise<DatabaseAccess | null> {
  const tool = dumpTool(database, database.ports[0]!.port)
  if (!tool) return dumpRedis(database, output, signal).then(() => null)
  const inside = await container()
  const run: Parameters<typeof dumpWith>[2] = (one, streams) =>
    runDatabaseTool(inside, one, database, { ...streams, signal })
  return dumpWith(tool, database, run, output)
}

export async function loadDatabase(
  container: Container,
  database: DatabaseSpec,
  source: CopySource,
  { restore, signal }: { restore: RestoreSpec; signal: AbortSignal },
): Promise<void> {
  const tool = loadTool(database, database.ports[0]!.port, restore)
  if (!tool) return await loadRedis(database, source, signal)
  await runDatabaseTool(await container(), tool, database, {
    input: toLoad(database, await source()),
    signal,
  })
}

export async function changeDatabasePassword(
  container: Container,
  database: DatabaseSpec,
  previous: string,
  signal: AbortSignal,
): Promise<void> {
  const tool = passwordTool(database, previous, database.ports[0]!.port)
  if (!tool) return await changeRedisPassword(database, previous, signal)
  await runDatabaseTool(await container(), tool, database, { signal })
}

/** Runs the tool inside the database's own container, which has the programs. Variables are in the request's body. */
async function runDatabaseTool(
  container: Docker.Container,
  tool: DatabaseTool,
  database: DatabaseSpec,
  streams: { input?: Readable; output?: Writable; signal: AbortSignal },
): Promise<void> {
  const { input, output, signal } = streams
  const exec = await requestInTime((abortSignal) =>
    container.exec({
      Cmd: ['/bin/sh', '-c', tool.script],
      Env: Object.entries(tool.env).map(([name, value]) => `${name}=${value}`),
      AttachStdin: input !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      abortSignal,
    }),
  )
  const starting: Promise<Duplex> = engineCall(exec.start({ hijack: true, stdin: true }))
  const pipe = await raceAbort(starting, signal, (late) => late.destroy())
  // Needed even while no read or write is pending: the engine may reset the connection then.
  pipe.on('error', () => {})
  // Also if the stop came while the engine prepared the tool.
  const stopping = addAbortListener(signal, () => pipe.destroy())
  try {
    const [fed, errorText] = await Promise.allSettled([
      input ? pipeline(input, pipe, { end: true }) : null,
      readResponse(pipe, output),
    ])
    signal.throwIfAborted()
    if (errorText.status === 'rejected') throw errorText.reason
    const { ExitCode } = await requestInTime((abortSignal) => exec.inspect({ abortSignal }))
    if (ExitCode !== 0) throw new EngineFailure('database', toolFailure(errorText.value, database))
    if (fed.status === 'rejected') throw fed.reason
  } finally {
    stopping[Symbol.dispose]()
    pipe.destroy()
  }
}

/** Pipes standard output to `output` with back-pressure; returns standard error. */
async function readResponse(pipe: Duplex, output: Writable | undefined): Promise<string> {
  let errorText = ''
  for await (const { stream, payload } of readFrames(pipe)) {
    if (stream === 'stderr') errorText = (errorText + payload.toString('utf8')).slice(0, keptErrorBytes)
    else if (output && !output.write(payload)) await drained(output)
  }
  return errorText
}
