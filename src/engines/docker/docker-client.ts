import type { IncomingMessage } from 'node:http'
import http from 'node:http'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import type { DockerEndpoint } from './docker-socket.ts'

/** No answer to a plain question takes longer on an engine that is well, a loaded one included. */
export const answerDeadlineMs = 60_000

export interface DockerConnection {
  docker: Docker
  /** Cuts every request under way. */
  close(): void
}

/** Opens no socket yet. dockerode is loaded here because it costs 0.2 s and 20 MB, paid only by those who use it. */
export async function connectDocker(endpoint: DockerEndpoint): Promise<DockerConnection> {
  const { default: Client } = await import('dockerode')
  // No keep-alive: a kept socket that the engine has just closed would fail a call that nothing is wrong with,
  // and a new one costs 0.1 ms on a machine's own socket.
  const agent = new http.Agent({ keepAlive: false })
  const target =
    endpoint.kind === 'unix'
      ? { socketPath: endpoint.path }
      : { host: endpoint.host, port: endpoint.port, protocol: 'http' as const }
  const options = { ...target, agent }
  return { docker: new Client(options), close: () => agent.destroy() }
}

/** The status the engine answered with; null when it did not answer. */
export function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode
  return typeof status === 'number' ? status : null
}

/** The engine's own sentence without the paths and ids of its machine, which say nothing to a tenant. */
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

/** Whether the engine gave no answer at all. */
function isAway(error: unknown): boolean {
  if (statusOf(error) === 503) return true
  const { code, name, syscall } = error as { code?: unknown; name?: unknown; syscall?: unknown }
  if (name === 'TimeoutError' || name === 'AbortError') return true
  // ENOENT and EACCES also come from reading files; those name another system call.
  return typeof code === 'string' && awayCodes.has(code) && (syscall === undefined || isSocketCall(syscall))
}

function isSocketCall(syscall: unknown): boolean {
  return syscall === 'connect' || syscall === 'read' || syscall === 'write'
}

/** What an engine that gives no answer is called on every surface. */
export function engineAway(cause: unknown): AppError {
  const code = (cause as { code?: unknown } | null)?.code
  const details =
    code === 'EACCES' || code === 'EPERM'
      ? 'The user that runs Longshore may not use its socket: add that user to the group docker and log in again, ' +
        'or set DOCKER_HOST to a socket it may use.'
      : 'Start it (for example `systemctl start docker`, or open Docker Desktop), or set DOCKER_HOST to its socket. ' +
        'Longshore goes on by itself when it answers again.'
  return new AppError('unavailable', 'The container engine does not answer', {
    details,
    retryAfterSeconds: 5,
    cause,
  })
}

/** Passes on what the engine answered; an engine that is away becomes `unavailable` with the remedy. */
export async function asked<T>(question: Promise<T>): Promise<T> {
  try {
    return await question
  } catch (error) {
    throw told(error)
  }
}

/** What to throw for an error of a question or of reading its answer: `unavailable` where there was no answer. */
export function told(error: unknown): unknown {
  return isAway(error) ? engineAway(error) : error
}

/** Asks with a deadline, so that an engine that hangs is an engine that is away. */
export function askedInTime<T>(
  question: (abortSignal: AbortSignal) => Promise<T>,
  deadlineMs = answerDeadlineMs,
): Promise<T> {
  const signal = AbortSignal.timeout(deadlineMs)
  // Raced as well, for the few questions dockerode takes no signal for.
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  return asked(Promise.race([question(signal), late]))
}

/** Null where the engine says there is no such thing. */
export async function orNull<T>(question: Promise<T>): Promise<T | null> {
  try {
    return await question
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw error
  }
}

/** Asks for a stream without dockerode's buffering of answers it takes for short ones. */
export function openStream(
  docker: Docker,
  path: string,
  query: Record<string, unknown>,
  abortSignal: AbortSignal,
): Promise<IncomingMessage> {
  return asked(
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

/** JSON values, one a line, as the engine sends progress and events. */
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
  if (rest.trim()) yield JSON.parse(rest)
}
