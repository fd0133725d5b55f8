import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { type CallRecord, runScenario } from '../../../testkit/api/example-scenario.ts'
import { asExamples } from '../../../testkit/api/scenario-examples.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let played: CallRecord[] = []
const receiver = createServer((request, response) => {
  request.resume()
  // Long enough that short pauses of the machine do not count as overload.
  setTimeout(() => response.end(), 300)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const address = { host: '127.0.0.1', port: (receiver.address() as AddressInfo).port }
  platform = await TestPlatform.start({ ingress: address })
  played = await runScenario(platform, `http://127.0.0.1:${address.port}/hook`)
})
afterAll(async () => {
  await platform.close()
  receiver.close()
})

describe('the examples of the OpenAPI document', () => {
  it('exist for every operation', () => {
    const missing = operations.filter((row) => !played.some((one) => one.row === row)).map((row) => row.id)
    expect(missing).toEqual([])
  })

  it('match the output schema of their rows', () => {
    for (const { row, answer } of played) {
      const checked = row.output.safeParse(answer)
      expect(checked.error?.issues ?? [], row.id).toEqual([])
    }
  })

  it('equal the recorded calls and responses of the platform', async () => {
    const text = `${JSON.stringify(asExamples(played), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../../../src/api/examples.json')
  })
})
