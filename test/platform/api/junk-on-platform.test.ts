import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { type CallRecord, runScenario } from '../../../testkit/api/example-scenario.ts'
import { junkCalls } from '../../../testkit/api/junk-calls.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

/** `npm run bench -- junk` makes 10,000 a row. */
const runsPerRow = 8
const seed = 1

let platform: TestPlatform
let played: CallRecord[] = []
const receiver = createServer((request, response) => {
  request.resume()
  response.end()
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const ingress = { host: '127.0.0.1', port: (receiver.address() as AddressInfo).port }
  platform = await TestPlatform.start({ ingress })
  played = await runScenario(platform, `http://127.0.0.1:${ingress.port}/hook`, { keeps: true })
})
afterAll(async () => {
  await platform.close()
  receiver.close()
})

it.each(operations.map((row) => [row.id, row] as const))(
  '%s: what comes near a valid call is never a 5xx',
  async (_id, row) => {
    const target = { apiUrl: platform.apiUrl, token: platform.admin.token }
    const { broken, statuses } = await junkCalls(target, row, played, runsPerRow, seed)
    expect(broken, `seed ${seed}`).toEqual([])
    // Some calls must get past the first check.
    expect(Object.keys(statuses).length).toBeGreaterThan(0)
    // Test notifications have their own limit.
    if (row.id !== 'test-contact-point') expect(statuses[429] ?? 0).toBe(0)
  },
  180_000,
)
