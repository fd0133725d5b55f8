import { expect, it } from 'vitest'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const fixture = variablesFixture()
const { ask, send, read, app, deploy, serves } = fixture

it('undo-change of a start stops the environment again; a deployment is not undone that way', async () => {
  const { appEnvId } = await app()
  const { accountId } = fixture.platform
  const last = async () =>
    (await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })).json.entries[0]
  await deploy(appEnvId)
  await send('POST', '/app-env/stop', { appEnvId })
  await send('POST', '/app-env/start', { appEnvId })
  await serves(appEnvId, 1)
  const start = await last()
  expect(start).toMatchObject({ operation: 'start-app-env', impact: { undo: 'undo-change' } })
  await send('POST', '/audit/undo', { entryId: start.entryId })
  expect((await read(appEnvId)).status).toBe('STOPPED')
  expect((await ask('POST', '/audit/undo', { entryId: start.entryId })).status).toBe(400)
  await deploy(appEnvId)
  const refused = await ask('POST', '/audit/undo', { entryId: (await last()).entryId })
  expect([refused.status, refused.json.details]).toEqual([
    400,
    expect.stringContaining('changed more than settings'),
  ])
})
