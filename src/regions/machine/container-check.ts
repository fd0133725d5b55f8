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
): Promise<CheckProblem | null> {
  if (path === null) return (await acceptsConnections(address, connectTimeoutMs)) ? null : unreachable
  const status = await statusOf(address, path, timeoutSeconds * 1_000)
  const isExpected =
    expectedStatus === null ? status !== null && status >= 200 && status < 400 : status === expectedStatus
  if (isExpected) return null
  const expected = expectedStatus ?? '200 to 399'
  const seen = status === null ? `got no answer within ${timeoutSeconds} s` : `was answered with ${status}`
  const message = `The health check ${seen}; expected: ${expected}. get-logs shows the output.`
  return { reason: 'failing-checks', message, answered: status !== null }
}

const unreachable: CheckProblem = {
  reason: 'unreachable',
  message: 'The container runs, but its port accepts no connections any more. get-logs shows its output.',
  answered: false,
}

/** Null without an answer in time. Redirects are not followed: they are answers. */
function statusOf({ host, port }: Address, path: string, timeoutMs: number): Promise<number | null> {
  return new Promise((resolve) => {
    const headers = { 'user-agent': 'longshore-health-check', connection: 'close' }
    const request = http.get({ host, port, path, headers, agent: false }, (response) =>
      finish(response.statusCode ?? null),
    )
    const timer = setTimeout(() => finish(null), timeoutMs)
    const finish = (status: number | null) => {
      clearTimeout(timer)
      resolve(status)
      request.destroy()
    }
    request.on('error', () => finish(null))
  })
}
