import { addAbortListener, once } from 'node:events'
import net from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { type DatabaseTool, toolFailure } from '../../../engines/database-tools.ts'
import { type DatabaseSpec, EngineFailure } from '../../../engines/engine.ts'
import type { ClusterClient, PodSocket } from '../client.ts'
import { type ExecPod, runInPod, send } from '../pod-exec.ts'

/** Runs the tool in the database's own container, which has the programs. */
export async function runDatabaseTool(
  client: ClusterClient,
  pod: ExecPod,
  tool: DatabaseTool,
  database: DatabaseSpec,
  streams: { input?: Readable; output?: Writable; signal: AbortSignal },
): Promise<void> {
  const failure = await runInPod(client, pod, tool, streams)
  if (failure !== null) throw new EngineFailure('database', toolFailure(failure, database))
}

/** Calls `use` with a port of this machine behind which a port of the pod is. */
export async function withForwardedPort<T>(
  client: ClusterClient,
  pod: ExecPod,
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

async function forward(client: ClusterClient, pod: ExecPod, port: number, local: net.Socket) {
  const gone = new AbortController()
  local.once('close', () => gone.abort())
  // The first frame of each channel repeats the number of the port.
  const begun = new Set<number>()
  let socket: PodSocket | null = null
  const onFrame = (from: number, data: Buffer) => {
    if (!begun.has(from)) begun.add(from)
    else if (from !== 0) local.destroy()
    else if (!local.write(data)) socket?.pause()
  }
  const opened = await client.podSocket(pod, `portforward?ports=${port}`, onFrame, gone.signal)
  socket = opened
  local.on('drain', () => opened.resume())
  for (const event of ['close', 'error'] as const) opened.addEventListener(event, () => local.end())
  // Also if it closed while the connection opened.
  addAbortListener(gone.signal, () => opened.terminate())
  for await (const chunk of local) await send(opened, 0, chunk as Buffer)
  opened.close()
}
