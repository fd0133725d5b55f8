import { it } from 'vitest'
import { functionRoute, upstream } from '../../../testkit/gateway/harness.ts'
import { gatewayOnTestClock } from '../../../testkit/gateway/on-test-clock.ts'
import { until } from '../../../testkit/until.ts'

const request = 'GET / HTTP/1.1\r\nHost: f.fn.localhost\r\n\r\n'
const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length

it('a process of the gateway closes connections above its limit at once, and goes on with the others', async () => {
  const container = await upstream((_request, response) => response.end('ok'))
  const { connect } = await gatewayOnTestClock([functionRoute([container.container('one')])], {
    mostConnections: 3,
  })
  const kept = [await connect(), await connect(), await connect()]
  const ask = async ({ client }: (typeof kept)[number], times: number) => {
    client.socket.write(request)
    await until(() => client.text.split('\r\n\r\nok').length > times, 'an answer')
  }
  for (const one of kept) await ask(one, 1)
  const before = openSockets()

  const flood = await Promise.all(Array.from({ length: 20 }, connect))
  await until(() => flood.every(({ client }) => client.closed), 'the end of the others')
  await until(() => openSockets() <= before, 'no open sockets of the others')
  for (const one of kept) await ask(one, 2)

  kept[0]!.client.socket.destroy()
  await until(() => kept[0]!.accepted.closed, 'one closed')
  await ask(await connect(), 1)
})
