import { expect, it } from 'vitest'
import { appRoute, get, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { untilRead } from '../../../testkit/until.ts'

it('serves an environment under the host of its region and under its own domains, as they change', async () => {
  const one = await upstream((_request, response) => response.end('one'))
  const route = appRoute([one.container('one')], {
    host: 'a.apps.example.com',
    domains: ['shop.example.com'],
  })
  const { port, link } = await startGateway([route])
  const status = async (host: string) => (await get(port, host)).status
  expect(await status('a.apps.example.com')).toBe(200)
  expect(await status('SHOP.example.com:4480')).toBe(200)
  expect(await status('a.app.localhost')).toBe(404)
  link.setRoute({ ...route, domains: ['www.example.com'] })
  await untilRead(
    () => status('www.example.com'),
    (now) => now === 200,
    'the new domain',
  )
  expect(await status('shop.example.com')).toBe(404)
  // Another environment takes a name over before the first one gives it up.
  const two = await upstream((_request, response) => response.end('two'))
  link.setRoute({ ...appRoute([two.container('two')]), appEnvId: 'env_b', domains: ['www.example.com'] })
  await untilRead(
    () => get(port, 'www.example.com'),
    ({ body }) => body === 'two',
    'the other environment',
  )
  link.setRoute({ ...route, domains: [] })
  // Messages stay in order: once a later route is served, the change is made.
  link.setRoute(appRoute([one.container('one')], { appEnvId: 'env_c', envName: 'c' }))
  await untilRead(
    () => status('c.app.localhost'),
    (now) => now === 200,
    'a later route',
  )
  expect((await get(port, 'www.example.com')).body).toBe('two')
})
