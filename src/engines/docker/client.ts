import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import { inspect } from 'node:util'
import type Docker from 'dockerode'
import { type DockerEndpoint, dockerodeOptions } from '../../docker-endpoint.ts'
import { AppError } from '../../errors.ts'

/** A working engine answers a simple request in less time, even under load. */
const answerDeadlineMs = 60_000

export interface DockerConnection {
  docker: Docker
  /** Closes the connection of every request in progress. */
  close(): void
}

/**
 * Does not connect yet. dockerode is imported here because it costs 0.2 s and 20 MB, which only this engine needs.
 */
export async function connectDocker(endpoint: DockerEndpoint): Promise<DockerConnection> {
  const { default: Client } = await import('dockerode')
  // No keep-alive: reusing a connection that the engine has just closed would fail a valid call, and a new connection
  // costs 0.1 ms on a local socket.
  const agent = new http.Agent({ keepAlive: false })
  // docker-modem inspects the options of every request for its debug output, also when that is off; with the agent these
  // would be all open connections, 0.4 s of CPU for the requests of a start.
  Object.defineProperty(agent, inspect.custom, { value: () => 'Agent' })
  const options = { ...dockerodeOptions(endpoint), agent }
  return { docker: new Client(options), close: () => agent.destroy() }
}

/** The HTTP status of the engine's response; null if it did not respond. */
export function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' ? status : null
}

/**
 * The engine's error message without paths and ids of its machine, which do not help a tenant, and without answers of
 * servers that are not registries: a tenant can name any address, also on the engine's own machine.
 */
export function engineSentence(error: unknown): string {
  const answered = (error as { json?: { message?: unknown } } | null)?.json?.message
  const text =
    typeof answered === 'string' ? answered : error instanceof Error ? error.message : String(error)
  return text
    .replace(/^\(HTTP code \d+\) [^-]* - /, '')
    .replace(/^Error response from daemon: /, '')
    .replace(
      /^(?:failed to create (?:task for container|shim task|shim): )*(?:OCI runtime create failed: )?/,
      '',
    )
    .replace(/(?:runc|crun) (?:create|run) failed: |unable to start container process: /g, '')
    .replace(/container_linux\.go:\d+: |process_linux\.go:\d+: |starting container process caused: /g, '')
    .replace(
      /(?:\/var\/lib|\/run|\/home\/[^/\s]+\/\.local\/share)\/(?:docker|containerd|containers)\/[^\s:"']*/g,
      '(engine file)',
    )
    .replace(/\b(?:sha256:)?[0-9a-f]{64}\b/g, '(id)')
    .replace(/error parsing HTTP (\d+) response body:.*$/s, 'the server answered $1, not as a registry does')
    .replace(/: unknown\s*$/, '')
    .trim()
}

const awayCodes = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'EACCES',
  'EPERM',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTSOCK',
  'EHOSTUNREACH',
  'ERR_STREAM_PREMATURE_CLOSE',
])

/** Whether the engine did not respond. */
function isAway(error: unknown): boolean {
  if (statusOf(error) === 503) return true
  const { code, name, syscall } = error as { code?: unknown; name?: unknown; syscall?: unknown }
  if (name === 'TimeoutError' || name === 'AbortError') return true
  // Reading a file also fails with ENOENT and EACCES, but with another system call.
  return typeof code === 'string' && awayCodes.has(code) && (syscall === undefined || isSocketCall(syscall))
}

function isSocketCall(syscall: unknown): boolean {
  return syscall === 'connect' || syscall === 'read' || syscall === 'write'
}

/** The error for an engine that does not respond, the same on every surface. */
export function engineAway(cause: unknown): AppError {
  const code = (cause as { code?: unknown } | null)?.code
  const details =
    code === 'EACCES' || code === 'EPERM'
      ? 'The user that runs Longshore may not use its socket: add that user to the group docker and log in again, ' +
        'or set DOCKER_HOST to a socket it may use.'
      : 'Start it (for example `systemctl start docker`, or open Docker Desktop), or set DOCKER_HOST to its socket. ' +
        'Longshore continues automatically when it answers again.'
  return new AppError('unavailable', 'The container engine does not answer', {
    details,
    retryAfterSeconds: 5,
    cause,
  })
}

/** Returns the engine's response; an engine that is down becomes `unavailable` with the remedy. */
export async function engineCall<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw engineError(error)
  }
}

/** Converts an error of a call, or of reading its response, to `unavailable` if there was no response. */
export function engineError(error: unknown): unknown {
  return isAway(error) ? engineAway(error) : error
}

/** Calls the engine with a deadline, so that an engine that hangs counts as down. */
export function requestInTime<T>(
  question: (abortSignal: AbortSignal) => Promise<T>,
  deadlineMs = answerDeadlineMs,
): Promise<T> {
  const signal = AbortSignal.timeout(deadlineMs)
  // Also raced, because dockerode ignores the signal for a few calls.
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return engineCall(Promise.race([question(signal), late]))
}

/** Null for a 404 of the engine. */
export async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw error
  }
}

/** Opens a stream; dockerode itself would buffer responses that it takes for short ones. */
export function openStream(
  docker: Docker,
  path: string,
  query: Record<string, unknown>,
  abortSignal: AbortSignal,
): Promise<IncomingMessage> {
  return engineCall(
    new Promise((resolve, reject) => {
      docker.modem.dial(
        {
          path: `${path}?`,
          method: 'GET',
          options: query,
          isStream: true,
          abortSignal,
          statusCodes: { 200: true, 400: 'bad parameter', 404: 'no such thing', 500: 'server error' },
        },
        (error: unknown, stream: unknown) => (error ? reject(error) : resolve(stream as IncomingMessage)),
      )
    }),
  )
}

/** JSON values, one per line, the engine's format for progress and events. */
export async function* jsonLines(
  stream: AsyncIterable<Buffer | string>,
): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim()) yield JSON.parse(line)
  }
  if (rest.trim()) yield lastValue(rest)
}

/** A response that ends inside a value was cut off. */
function lastValue(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw engineAway(cause)
  }
}
