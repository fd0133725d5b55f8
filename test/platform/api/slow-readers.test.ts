import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { endSlowReaders } from '../../../src/api/slow-readers.ts'

/** More than the system holds for a client that does not read. */
const answer = Buffer.alloc(32 * 1024 ** 2)

it('a client that reads nothing of a response loses its connection, and one that reads slowly gets all of it', async () => {
  const server = createServer((_request, response) => response.end(answer)).listen(0, '127.0.0.1')
  endSlowReaders(server, 2_000)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return socket
  }
  const idle = ask().pause()
  const ended = once(server, 'connection').then(([connection]) => once(connection, 'close'))
  let read = 0
  for await (const chunk of ask()) {
    read += (chunk as Buffer).length
    await sleep(2)
  }
  expect(read).toBeGreaterThan(answer.length)
  await ended
  idle.destroy()
  server.close()
})

it('a client that reads nothing loses its connection although the server writes on', async () => {
  const server = createServer((_request, response) => {
    response.write(answer)
    const writing = setInterval(() => response.write('more'), 10)
    response.once('close', () => clearInterval(writing))
  }).listen(0, '127.0.0.1')
  endSlowReaders(server, 400)
  await once(server, 'listening')
  const idle = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  idle.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [connection] = await once(server, 'connection')
  await once(connection, 'close')
  idle.destroy()
  server.close()
})
