import { describe, expect, it } from 'vitest'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const fixture = variablesFixture()
const { send, read, app, deploy, serves } = fixture

/** Deploys while the engine is away, so that the deployment cannot end. */
async function whileUnderWay<T>(appEnvId: string, work: (contentId: string) => Promise<T>): Promise<T> {
  const { faults } = fixture.platform.engine
  faults.away = true
  try {
    const { json } = await send('POST', '/app-env/redeploy', { appEnvId, settings: 'saved' })
    return await work(json.contentId)
  } finally {
    faults.away = false
  }
}
const cancel = (appEnvId: string, input: object = {}) =>
  send('POST', '/app-env/cancel-deployment', { appEnvId, ...input })

describe('cancel-deployment', () => {
  it('ends the deployment as FAILED, and the version before keeps serving', async () => {
    const { appEnvId } = await app()
    await deploy(appEnvId)
    await serves(appEnvId, 1)
    await whileUnderWay(appEnvId, async (contentId) => {
      expect((await read(appEnvId)).status).toBe('UPDATING')
      const input = { appEnvId, contentId: 'dep_other' }
      const { token } = fixture.platform.admin
      const other = await fixture.platform.request('POST', '/app-env/cancel-deployment', { token, input })
      expect([other.status, other.json.error]).toEqual([409, 'Another version is being deployed'])
      const { json } = await cancel(appEnvId, { contentId })
      expect(json).toMatchObject({ contentId, servingVersion: 1, appEnv: { status: 'RUNNING' } })
    })
    const { json: status } = await send('GET', '/app-env/status', { appEnvId })
    expect(status).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
    expect(status.currentDeployment.failure).toMatchObject({ reason: 'canceled' })
    const { activities } = (await send('GET', '/app-env/history', { appEnvId })).json
    expect(activities[0].details).toBe('canceled: It was canceled before it finished.')
    expect((await cancel(appEnvId)).json).toMatchObject({
      contentId: null,
      message: 'No deployment is under way',
    })
    await deploy(appEnvId)
    await serves(appEnvId, 2)
  })

  it('of a first version stops the environment', async () => {
    const { appEnvId } = await app()
    const { faults } = fixture.platform.engine
    faults.away = true
    try {
      await send('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:1' })
      const dry = await fixture.platform.request('POST', '/app-env/cancel-deployment', {
        token: fixture.platform.admin.token,
        input: { appEnvId },
        headers: { 'dry-run': 'true' },
      })
      expect(dry.json.impact).toMatchObject({ actions: ['stop'], undo: 'none' })
      expect((await cancel(appEnvId)).json).toMatchObject({
        servingVersion: null,
        appEnv: { status: 'STOPPED' },
      })
    } finally {
      faults.away = false
    }
    await until('no container', async () => {
      const running = fixture.platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
      return running.length === 0 ? true : null
    })
  })

  it('is a tool that asks, and does not ask when nothing is under way', async () => {
    const { appEnvId } = await app()
    await deploy(appEnvId)
    await serves(appEnvId, 1)
    const { apiUrl, admin } = fixture.platform
    const session = await openToolSession(apiUrl, { token: admin.token })
    expect((await session.call('cancel-deployment', { appEnvId })).text).toContain(
      'No deployment is under way',
    )
    await whileUnderWay(appEnvId, async () => {
      const asked = await session.call('cancel-deployment', { appEnvId })
      expect(asked.structured.error).toBe('Confirmation needed')
      const { cliEnvName } = await read(appEnvId)
      const done = await session.call('cancel-deployment', { appEnvId, confirm: cliEnvName })
      expect(done.structured).toMatchObject({ servingVersion: 1 })
    })
    await session.close()
  })
})
