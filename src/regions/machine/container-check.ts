import http from 'node:http'
import type { HealthCheck } from '../../contract/health.ts'
import type { Address } from '../../engines/engine.ts'
import { acceptsConnections } from '../../engines/wait-until-listening.ts'

/** The problem of a running container, in words of the platform. */
export interface CheckProblem {
  reason: 'failing-checks' | 'unreachable'
  message: string
  /** It answered, so its program runs. */
  answered: boolean
}

const connectTimeoutMs = 1_000

/** One check: the answer to its path, or whether its port accepts connections. Null: healthy. */
export async function checkContainer(
  address: Address,
  { path, expectedStatus, timeoutSeconds }: HealthCheck,
  hostName: string,
): Promise<CheckProblem | null> {
  if (path === null) return (await acceptsConnections(address, connectTimeoutMs)) ? null : unreachable
  const answer = await answerTo(address, { path, hostName, timeoutSeconds })
  const { status } = answer
  const isExpected =
    expectedStatus === null ? status !== null && status >= 200 && status < 400 : status === expectedStatus
  if (isExpected) return null
  const expected = expectedStatus ?? '200 to 399'
  const sent = `GET ${path} with the header Host: ${hostName}`
  const message = `The health check ${sent} ${answer.words}; expected: ${expected}. get-logs shows the output.`
  return { reason: 'failing-checks', message, answered: status !== null }
}

const unreachable: CheckProblem = {
  reason: 'unreachable',
  message: 'The container runs, but its port accepts no connections any more. get-logs shows its output.',
  answered: false,
}

interface Answer {
  status: number | null
  words: string
}

/** Many frameworks serve only the names that they know, so the check names the environment. Redirects are answers. */
function answerTo(
  { host, port }: Address,
  { path, hostName, timeoutSeconds }: { path: string; hostName: string; timeoutSeconds: number },
): Promise<Answer> {
  return new Promise((resolve) => {
    const headers = { host: hostName, 'user-agent': 'longshore-health-check', connection: 'close' }
    const request = http.get({ host, port, path, headers, agent: false }, ({ statusCode = 0 }) =>
      finish({ status: statusCode, words: `was answered with ${namedStatus(statusCode)}` }),
    )
    const late = { status: null, words: `got no answer within ${timeoutSeconds} s` }
    const timer = setTimeout(() => finish(late), timeoutSeconds * 1_000)
    const finish = (answer: Answer) => {
      clearTimeout(timer)
      resolve(answer)
      request.destroy()
    }
    request.on('error', ({ code = '' }: NodeJS.ErrnoException) =>
      finish({ status: null, words: wordsOf(code) }),
    )
  })
}

function namedStatus(status: number): string {
  const name = http.STATUS_CODES[status]
  return name === undefined ? String(status) : `${status} ${name}`
}

function wordsOf(code: string): string {
  if (code === 'ECONNREFUSED') return 'got no answer: the port accepts no connections'
  return code.startsWith('HPE_')
    ? 'got an answer that is not HTTP'
    : 'got no answer: the container closed the connection'
}
