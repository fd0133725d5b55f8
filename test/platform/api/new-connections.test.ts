import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { yieldAlone } from '../../../src/pacer.ts'

const clients = 40

it('takes new connections between two pieces of work, and not one for each piece', async () => {
  let accepted = 0
  let pieces = 0
  let whenAllAccepted = Number.POSITIVE_INFINITY
  const server = createServer((socket) => {
    accepted += 1
    if (accepted === clients) whenAllAccepted = pieces
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const work = Array.from({ length: 3 * clients }, async () => {
    await yieldAlone()
    pieces += 1
  })
  const sockets = Array.from({ length: clients }, () => connect(port, '127.0.0.1').on('error', () => {}))
  await Promise.all(work)
  expect(whenAllAccepted).toBeLessThan(clients / 2)
  for (const socket of sockets) socket.destroy()
  server.close()
})
