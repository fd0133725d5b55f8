import { expect, it } from 'vitest'
import { MessageLines } from '../../../src/mcp/transport/message-lines.ts'

it('a line that is not UTF-8 is refused, and the next one is read', () => {
  const seen: unknown[] = []
  const lines = new MessageLines({
    accept: (message) => seen.push(message),
    refuse: ({ error }) => seen.push(error.code),
    takesBatches: () => true,
    longestBytes: 1_000,
  })
  const of = (text: string) => ({ jsonrpc: '2.0', id: 1, method: 'ping', params: { text } })
  lines.push(Buffer.from(`${JSON.stringify(of('caf\xe9'))}\n`, 'latin1'))
  lines.push(Buffer.from(`${JSON.stringify(of('café'))}\n`))
  expect(seen).toEqual([-32700, of('café')])
})
