import { addAbortListener } from 'node:events'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { EngineFailure } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { ClusterClient, PodSocket } from './client.ts'

/** A container in which a script runs. */
export interface ExecPod {
  namespace: string
  name: string
  container: string
}

interface Script {
  script: string
  env: Record<string, string>
}

interface Streams {
  input?: Readable
  output?: Writable
  signal: AbortSignal
}

const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const
/** The first protocol that can end the input of a program: Kubernetes 1.30. */
const protocol = 'v5.channel.k8s.io'
const keptErrorBytes = 16_384

/**
 * Reads variables up to an empty line, then runs the script with the rest of its input: values in the command would be in
 * the audit log of the cluster.
 */
const withVariables = (script: string) =>
  `while IFS= read -r line && [ -n "$line" ]; do export "$line"; done\n${script}`

/** Runs a script in a container. Null if it succeeds, otherwise its output or the cluster's error. */
export async function runInPod(
  client: ClusterClient,
  pod: ExecPod,
  { script, env }: Script,
  { input, output, signal }: Streams,
): Promise<string | null> {
  const query = new URLSearchParams({
    container: pod.container,
    stdin: 'true',
    stdout: 'true',
    stderr: 'true',
  })
  for (const word of ['/bin/sh', '-c', withVariables(script)]) query.append('command', word)
  let errorText = ''
  let status: ExecStatus | null = null
  const stdout = new PassThrough()
  let socket: PodSocket | null = null
  const onFrame = (from: number, data: Buffer) => {
    if (from === channel.stdout && !stdout.write(data)) socket?.pause()
    if (from === channel.stderr) errorText = (errorText + data.toString('utf8')).slice(0, keptErrorBytes)
    if (from === channel.status) {
      status = JSON.parse(data.toString('utf8')) as ExecStatus
      socket?.close()
    }
  }
  const opened = await client.podSocket(pod, `exec?${query}`, onFrame, signal)
  socket = opened
  stdout.on('drain', () => opened.resume())
  for (const event of ['close', 'error'] as const) opened.addEventListener(event, () => stdout.end())
  // Also if the stop came while the connection opened.
  const stopping = addAbortListener(signal, () => opened.terminate())
  try {
    const fed = feed(opened, env, input).catch((error: unknown) => error)
    if (output) await pipeline(stdout, output, { end: false })
    else await finished(stdout.resume())
    signal.throwIfAborted()
    if (!status) throw cutOff()
    const { status: outcome, message = '' } = status as ExecStatus
    if (outcome !== 'Success') return errorText.trim() || message
    const failed = await fed
    if (failed !== undefined) throw failed
    return null
  } finally {
    stopping[Symbol.dispose]()
    opened.terminate()
  }
}

interface ExecStatus {
  status: 'Success' | 'Failure'
  message?: string
}

async function feed(
  socket: PodSocket,
  env: Record<string, string>,
  input: Readable | undefined,
): Promise<void> {
  if (socket.protocol !== protocol) {
    socket.terminate()
    throw new EngineFailure('not supported', 'Backups need a cluster with Kubernetes 1.30 or newer.')
  }
  const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`)
  await send(socket, channel.stdin, Buffer.from(`${lines.join('')}\n`))
  for await (const chunk of input ?? []) await send(socket, channel.stdin, chunk as Buffer)
  await send(socket, channel.close, Buffer.from([channel.stdin]))
}

export function send(socket: PodSocket, to: number, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(Buffer.concat([Buffer.from([to]), data]), (error) => (error ? reject(error) : resolve()))
  })
}

function cutOff(): AppError {
  return new AppError('unavailable', 'The connection to the container was cut', {
    details: 'The API server of the cluster or the node of the container went away; it is tried again.',
  })
}
