import { once } from 'node:events'
import net from 'node:net'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { type DatabaseTool, toolFailure } from '../../../engines/database-tools.ts'
import { type DatabaseSpec, EngineFailure } from '../../../engines/engine.ts'
import { AppError } from '../../../errors.ts'
import type { ClusterClient, PodSocket } from '../client.ts'

/** Where a database runs. */
export interface DatabasePod {
  namespace: string
  name: string
  container: string
}

const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const
/** The first protocol that can end the input of a program: Kubernetes 1.30. */
const protocol = 'v5.channel.k8s.io'
const keptErrorBytes = 16_384

/**
 * Reads variables up to an empty line, then runs the tool with the rest of its input: values in the command would be in
 * the audit log of the cluster.
 */
const withVariables = (script: string) =>
  `while IFS= read -r line && [ -n "$line" ]; do export "$line"; done\n${script}`

interface Streams {
  input?: Readable
  output?: Writable
  signal: AbortSignal
}

/** Runs the tool in the database's own container, which has the programs. */
export async function runDatabaseTool(
  client: ClusterClient,
  pod: DatabasePod,
  tool: DatabaseTool,
  database: DatabaseSpec,
  { input, output, signal }: Streams,
): Promise<void> {
  const query = new URLSearchParams({
    container: pod.container,
    stdin: 'true',
    stdout: 'true',
    stderr: 'true',
  })
  for (const word of ['/bin/sh', '-c', withVariables(tool.script)]) query.append('command', word)
  let errorText = ''
  let status: ExecStatus | null = null
  const stdout = new PassThrough()
  let socket: PodSocket | null = null
  const opened = await client.podSocket(pod, `exec?${query}`, (from, data) => {
    if (from === channel.stdout && !stdout.write(data)) socket?.pause()
    if (from === channel.stderr) errorText = (errorText + data.toString('utf8')).slice(0, keptErrorBytes)
    if (from === channel.status) {
      status = JSON.parse(data.toString('utf8')) as ExecStatus
      socket?.close()
    }
  })
  socket = opened
  stdout.on('drain', () => opened.resume())
  for (const event of ['close', 'error'] as const) opened.addEventListener(event, () => stdout.end())
  const cut = () => opened.terminate()
  signal.addEventListener('abort', cut, { once: true })
  try {
    const fed = feed(opened, tool.env, input).catch((error: unknown) => error)
    if (output) await pipeline(stdout, output, { end: false })
    else await finished(stdout.resume())
    signal.throwIfAborted()
    if (!status) throw cutOff()
    if ((status as ExecStatus).status !== 'Success')
      throw new EngineFailure('database', toolFailure(errorText, database))
    const failed = await fed
    if (failed !== undefined) throw failed
  } finally {
    signal.removeEventListener('abort', cut)
    opened.terminate()
  }
}

interface ExecStatus {
  status: 'Success' | 'Failure'
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

function send(socket: PodSocket, to: number, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(Buffer.concat([Buffer.from([to]), data]), (error) => (error ? reject(error) : resolve()))
  })
}

function cutOff(): AppError {
  return new AppError('unavailable', 'The connection to the database was cut', {
    details: 'The API server of the cluster or the node of the database went away; it is tried again.',
  })
}

/** Calls `use` with a port of this machine behind which a port of the pod is. */
export async function withForwardedPort<T>(
  client: ClusterClient,
  pod: DatabasePod,
  port: number,
  use: (hostPort: number) => Promise<T>,
): Promise<T> {
  const open = new Set<net.Socket>()
  const server = net.createServer((local) => {
    open.add(local)
    local.once('close', () => open.delete(local))
    local.on('error', () => local.destroy())
    forward(client, pod, port, local).catch(() => local.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await use((server.address() as net.AddressInfo).port)
  } finally {
    server.close()
    for (const local of open) local.destroy()
  }
}

async function forward(client: ClusterClient, pod: DatabasePod, port: number, local: net.Socket) {
  // The first frame of each channel repeats the number of the port.
  const begun = new Set<number>()
  let socket: PodSocket | null = null
  const opened = await client.podSocket(pod, `portforward?ports=${port}`, (from, data) => {
    if (!begun.has(from)) begun.add(from)
    else if (from !== 0) local.destroy()
    else if (!local.write(data)) socket?.pause()
  })
  socket = opened
  local.on('drain', () => opened.resume())
  local.once('close', () => opened.terminate())
  for (const event of ['close', 'error'] as const) opened.addEventListener(event, () => local.end())
  for await (const chunk of local) await send(opened, 0, chunk as Buffer)
  opened.close()
}
