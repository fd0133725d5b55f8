import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../src/contract/index.ts'
import { asExamples, type Played, playStory } from '../support/example-story.ts'
import { TestPlatform } from '../support/test-platform.ts'

let platform: TestPlatform
let played: Played[] = []
const receiver = createServer((request, response) => {
  request.resume()
  // Long enough that no hiccup of the machine looks like strain.
  setTimeout(() => response.end(), 60)
})

beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const address = { host: '127.0.0.1', port: (receiver.address() as AddressInfo).port }
  platform = await TestPlatform.start({ ingress: address })
  played = await playStory(platform, `http://127.0.0.1:${address.port}/hook`)
}, 120_000)
afterAll(async () => {
  await platform.close()
  receiver.close()
})

describe('the examples of the OpenAPI document', () => {
  it('are there for every operation', () => {
    const missing = operations.filter((row) => !played.some((one) => one.row === row)).map((row) => row.id)
    expect(missing).toEqual([])
  })

  it('are answered as their rows say', () => {
    for (const { row, answer } of played) {
      const checked = row.output.safeParse(answer)
      expect(checked.error?.issues ?? [], row.id).toEqual([])
    }
  })

  it('are what the platform takes and answers, word for word', async () => {
    const text = `${JSON.stringify(asExamples(played), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../../src/api/examples.json')
  })
})
