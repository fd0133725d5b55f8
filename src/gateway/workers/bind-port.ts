import { unlink } from 'node:fs/promises'
import { connect, type Server } from 'node:net'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'

interface PortWanted {
  host: string
  /** 0 picks a free one. */
  port: number
  clock: Clock
  /** How long to wait for a port that an exiting predecessor still uses. Default 0. */
  portPatienceMs?: number
}

/** Makes `server` listen. Throws an `AppError` with the remedy if the port is unavailable. */
export async function bindPort(server: Server, wanted: PortWanted): Promise<void> {
  const { clock, host, port } = wanted
  const untilMs = clock.monotonicMs() + (wanted.portPatienceMs ?? 0)
  for (;;) {
    try {
      return await listenOnce(server, host, port)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' || clock.monotonicMs() >= untilMs) throw portProblem(code, host, port, error)
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

function listenOnce(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error)
    server.once('error', failed)
    server.listen({ host, port, backlog: 4096 }, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

function portProblem(code: string | undefined, host: string, port: number, cause: unknown): AppError {
  const details = 'Stop what uses it, or set LONGSHORE_GATEWAY_PORT to a free port.'
  if (code === 'EADDRINUSE') {
    return new AppError('unavailable', `port ${port} is already taken on ${host}`, { details, cause })
  }
  if (code === 'EACCES') {
    return new AppError('unavailable', `port ${port} needs more rights than this user has`, {
      details: 'Set LONGSHORE_GATEWAY_PORT to a port above 1023.',
      cause,
    })
  }
  return new AppError('unavailable', `the gateway cannot listen on ${host} port ${port}`, {
    details: 'Set LONGSHORE_HOST to an address of this machine and LONGSHORE_GATEWAY_PORT to a free port.',
    cause,
  })
}

/** Removes a socket file without a listener, left over from a crash; throws if another gateway listens on it. */
export async function freeSocketPath(
  socketPath: string,
  wanted: Pick<PortWanted, 'clock' | 'portPatienceMs'>,
): Promise<void> {
  const untilMs = wanted.clock.monotonicMs() + (wanted.portPatienceMs ?? 0)
  while (await answersAt(socketPath)) {
    if (wanted.clock.monotonicMs() >= untilMs) {
      throw new AppError('unavailable', 'another gateway serves this installation', {
        details: 'Stop it first: it listens on another port or was started by another platform process.',
      })
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await unlink(socketPath).catch(() => {})
}

function answersAt(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
