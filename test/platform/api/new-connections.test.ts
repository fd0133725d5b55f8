import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { yieldAlone } from '../../../src/pacer.ts'
import { goodToken, startScripted } from '../../../testkit/api/scripted-server.ts'
import { until } from '../../../testkit/until.ts'

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

it('begins few of the requests that arrive at once, however many connections bring them', async () => {
  const on = await startScripted()
  let round = 0
  let timer = setImmediate(function count() {
    round += 1
    timer = setImmediate(count)
  })
  const begunIn: number[] = []
  on.answer.run = () => {
    begunIn.push(round)
    return { status: 200, body: '{}' }
  }
  const sockets = Array.from({ length: 200 }, () => connect(on.port, '127.0.0.1').on('error', () => {}))
  const head = `GET /api/public/v1/accounts HTTP/1.1\r\nHost: 127.0.0.1:${on.port}\r\nAuthorization: ${goodToken}\r\n\r\n`
  // A connection that answered once is accepted.
  for (const socket of sockets) socket.write(head)
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  begunIn.length = 0
  for (const socket of sockets) socket.write(head)
  await until(() => begunIn.length === sockets.length)
  clearImmediate(timer)
  const inRound = (wanted: number) => begunIn.filter((one) => one === wanted).length
  expect(Math.max(...begunIn.map(inRound))).toBeLessThanOrEqual(20)
  for (const socket of sockets) socket.destroy()
  await on.server.close()
})
