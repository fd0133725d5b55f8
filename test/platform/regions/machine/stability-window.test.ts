import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { getAppEnvHistory, getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage, redeployAppEnv } from '../../../../src/contract/deployments.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { SettledClock } from '../../../../testkit/platform/settled-clock.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let clock: SettledClock
let engine: FakeEngine
/** What each image answers; 200 if it is not here. */
const answers = new Map<string, number>()

afterEach(async () => {
  answers.clear()
  await platform.close()
})

async function start() {
  clock = new SettledClock()
  engine = new FakeEngine({
    clock: clock.clock,
    program: (_request, response, { spec }) => response.writeHead(answers.get(spec.image) ?? 200).end(),
  })
  platform = await TestPlatform.start({
    engine,
    clock: clock.clock,
    wrapDb: clock.wrapDb,
    stabilityScale: 1,
  })
  clock.drive(platform)
}

const passed: SettledClock['passed'] = (holds, what) => clock.passed(holds, what)
const status = (appEnvId: string) => platform.admin.client.call(getAppEnvStatus, { appEnvId })

async function make(healthCheck: Record<string, unknown> = {}, dockerPreset = 'CUSTOM') {
  const app = { useImage: true, dockerPreset }
  return (await platform.makeEnvironment({ app, environment: { healthCheck } })).appEnvId
}

const deploy = (appEnvId: string, image: string) =>
  platform.admin.client.call(deployAppEnvImage, { appEnvId, image })

const verdict = async (appEnvId: string) => (await status(appEnvId)).currentDeployment?.status
const ended = async (appEnvId: string) => ['DEPLOYED', 'FAILED'].includes((await verdict(appEnvId)) ?? '')
/** The images whose containers take requests now. */
function served(appEnvId: string): string[] {
  const route = platform.routes.routes.get(appEnvId)
  const names = route?.state === 'serving' ? route.containers.filter((one) => !one.draining) : []
  return names.map(({ name }) => engine.host.containers.get(name)?.spec.image ?? 'gone')
}

const running = (image: string) => engine.running().filter(({ spec }) => spec.image === image)

async function deployedFirst(healthCheck: Record<string, unknown> = {}) {
  const appEnvId = await make(healthCheck)
  await deploy(appEnvId, 'good:1')
  await passed(() => ended(appEnvId), 'the first version')
  expect(await status(appEnvId)).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
  return appEnvId
}

it('a first version serves as soon as it is ready and is DEPLOYED after the window', async () => {
  await start()
  const appEnvId = await make()
  await deploy(appEnvId, 'good:1')
  await passed(() => served(appEnvId).length === 1, 'a first answer')
  expect(await status(appEnvId)).toMatchObject({
    status: 'PENDING',
    currentVersion: null,
    currentDeployment: { status: 'DEPLOYING' },
  })
  const windowMs = await passed(() => ended(appEnvId), 'a verdict')
  expect(windowMs).toBeGreaterThan(9_000)
  expect(windowMs).toBeLessThan(12_000)
  expect(await status(appEnvId)).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
  expect(served(appEnvId)).toEqual(['good:1'])
})

it('a function has a window of 5 seconds', async () => {
  await start()
  const appEnvId = await make({}, 'FUNCTION')
  await deploy(appEnvId, 'good:1')
  await passed(() => served(appEnvId).length === 1, 'a first answer')
  const windowMs = await passed(() => ended(appEnvId), 'a verdict')
  expect(windowMs).toBeGreaterThan(4_000)
  expect(windowMs).toBeLessThan(7_000)
  expect(await verdict(appEnvId)).toBe('DEPLOYED')
})

it('the last good version keeps the traffic through the window of the next', async () => {
  await start()
  const appEnvId = await deployedFirst()
  await deploy(appEnvId, 'good:2')
  await passed(() => running('good:2').length === 1, 'the new container')
  const windowMs = await passed(() => {
    expect(served(appEnvId).length).toBeGreaterThan(0)
    return served(appEnvId).join() === 'good:2'
  }, 'the new version serves')
  expect(windowMs).toBeGreaterThan(9_000)
  expect(await verdict(appEnvId)).toBe('DEPLOYED')
})

it.each([0.2, 1.5, 5, 9])(
  'a version whose containers end after %d s fails; the last good one serves',
  async (lives) => {
    await start()
    const appEnvId = await deployedFirst()
    await deploy(appEnvId, 'crash:2')
    const crashed = new Set<string>()
    await passed(async () => {
      for (const container of running('crash:2')) {
        const { name } = container.spec
        if (crashed.has(name)) continue
        crashed.add(name)
        clock.clock.after(lives * 1_000, () => engine.crash(name))
      }
      expect(served(appEnvId)).toEqual(['good:1'])
      return ended(appEnvId)
    }, 'a verdict')
    expect(await status(appEnvId)).toMatchObject({
      status: 'RUNNING',
      currentVersion: 1,
      currentDeployment: { version: 2, status: 'FAILED' },
    })
    const { activities } = await platform.admin.client.call(getAppEnvHistory, { appEnvId })
    expect(activities[0]).toMatchObject({ version: 2, status: 'FAILED' })
    const again = await platform.admin.client.call(redeployAppEnv, { appEnvId })
    expect(again.version).toBe(1)
  },
)

it('one exit is forgiven if the next container stays', async () => {
  await start()
  const appEnvId = await deployedFirst()
  await deploy(appEnvId, 'good:2')
  // An exit before the container is ready is not forgiven.
  await passed(async () => (await status(appEnvId)).containers.ready === 2, 'the new container')
  await clock.advance(4_000)
  engine.crash(running('good:2')[0]?.spec.name ?? '')
  await passed(() => running('good:2').length === 0, 'its end')
  await passed(() => running('good:2').length === 1, 'its next container')
  const windowMs = await passed(() => ended(appEnvId), 'a verdict')
  expect(await verdict(appEnvId)).toBe('DEPLOYED')
  expect(windowMs).toBeGreaterThan(9_000)
})

it.each([
  ['', false, 0],
  [', also when its checks are refused before its exit is reported', true, 0],
  [', also when the engine lists it as running for another second', false, 1_200],
])('running out of memory once fails a version%s', async (_when, muteHints, lateMs) => {
  await start()
  const appEnvId = await deployedFirst({ stabilitySeconds: 2 })
  await deploy(appEnvId, 'leak:2')
  await passed(() => engine.running().length === 2, 'the new container')
  await clock.advance(600)
  engine.faults.muteHints = muteHints
  const [leaking] = running('leak:2')
  if (lateMs > 0) leaking?.server.close()
  clock.clock.after(lateMs, () => leaking?.hog(10_000))
  expect(await passed(() => ended(appEnvId), 'a verdict')).toBeLessThan(5_000)
  expect(await status(appEnvId)).toMatchObject({
    currentVersion: 1,
    currentDeployment: { status: 'FAILED', failure: { reason: 'out-of-memory' } },
  })
})

it('a version that answers its path with 500 never serves', async () => {
  await start()
  const appEnvId = await deployedFirst({ path: '/healthz' })
  answers.set('bad:2', 500)
  await deploy(appEnvId, 'bad:2')
  await passed(async () => {
    expect(served(appEnvId)).toEqual(['good:1'])
    return ended(appEnvId)
  }, 'a verdict')
  expect(await status(appEnvId)).toMatchObject({
    status: 'RUNNING',
    currentVersion: 1,
    currentDeployment: { status: 'FAILED', failure: { reason: 'failing-checks' } },
  })
})

it('a version that warms up for ten seconds is not failed for it, even without a window', async () => {
  await start()
  const appEnvId = await make({ path: '/healthz', stabilitySeconds: 0 })
  answers.set('slow:1', 503)
  await deploy(appEnvId, 'slow:1')
  await passed(() => running('slow:1').length === 1, 'the container')
  await clock.advance(10_000)
  expect(await verdict(appEnvId)).toBe('DEPLOYING')
  expect(served(appEnvId)).toEqual([])
  answers.set('slow:1', 200)
  await passed(() => ended(appEnvId), 'a verdict')
  expect(await verdict(appEnvId)).toBe('DEPLOYED')
})

it.each([2, 9, 9.9])('a version whose checks begin to fail %d s into the window fails', async (seconds) => {
  await start()
  const appEnvId = await deployedFirst({ path: '/healthz' })
  await deploy(appEnvId, 'bad:2')
  await passed(async () => (await status(appEnvId)).containers.ready === 2, 'the new container')
  await clock.advance(seconds * 1_000)
  answers.set('bad:2', 503)
  await passed(() => ended(appEnvId), 'a verdict')
  expect(await status(appEnvId)).toMatchObject({
    currentVersion: 1,
    currentDeployment: { status: 'FAILED', failure: { reason: 'failing-checks' } },
  })
  expect(served(appEnvId)).toEqual(['good:1'])
})

it('an unhealthy container leaves the rotation and returns when it recovers', async () => {
  await start()
  const appEnvId = await deployedFirst({ path: '/healthz', intervalSeconds: 3 })
  answers.set('good:1', 500)
  await passed(() => served(appEnvId).length === 0, 'out of the rotation')
  await passed(async () => (await status(appEnvId)).containers.ready === 0, 'not ready')
  answers.set('good:1', 204)
  await passed(() => served(appEnvId).length === 1, 'back in the rotation')
  await passed(async () => (await status(appEnvId)).containers.ready === 1, 'ready')
})

it('the window begins again after a restart of the control plane', async () => {
  await start()
  const appEnvId = await make()
  await deploy(appEnvId, 'good:1')
  await passed(() => served(appEnvId).length === 1, 'a first answer')
  await clock.advance(6_000)
  await platform.restart()
  expect(served(appEnvId)).toEqual(['good:1'])
  const windowMs = await passed(() => ended(appEnvId), 'a verdict')
  expect(windowMs).toBeLessThan(15_000)
  expect(await status(appEnvId)).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
})

it('an exit while no control plane runs counts', async () => {
  await start()
  const appEnvId = await deployedFirst()
  await deploy(appEnvId, 'crash:2')
  const isReady = async () => (await status(appEnvId)).containers.ready === 2
  await passed(isReady, 'the new container')
  const crash = async () => engine.crash(running('crash:2')[0]?.spec.name ?? '')
  await platform.restart(crash)
  await passed(isReady, 'its next container')
  await platform.restart(crash)
  await passed(() => ended(appEnvId), 'a verdict')
  expect(await verdict(appEnvId)).toBe('FAILED')
  expect(served(appEnvId)).toEqual(['good:1'])
})

it('a first version in its window serves until a newer one does', async () => {
  await start()
  const appEnvId = await make()
  await deploy(appEnvId, 'good:1')
  await passed(() => served(appEnvId).length === 1, 'a first answer')
  await deploy(appEnvId, 'good:2')
  await passed(async () => {
    expect(served(appEnvId).length).toBeGreaterThan(0)
    return ended(appEnvId)
  }, 'a verdict')
  await passed(() => served(appEnvId).join() === 'good:2', 'the newer one')
})

it('the status and the gateway say that a version crashes after its window', async () => {
  await start()
  const appEnvId = await deployedFirst()
  expect((await status(appEnvId)).health).toMatchObject({ verdict: 'HEALTHY', restarts: 0, logTail: [] })
  const crash = () => engine.crash(running('good:1')[0]?.spec.name ?? '')
  crash()
  // The first restart does not wait, so the moment without a container may be too short to see.
  const isBack = async () => (await status(appEnvId)).health?.restarts === 1 && served(appEnvId).length === 1
  await passed(isBack, 'its next container')
  crash()
  const problem = () => platform.routes.routes.get(appEnvId)?.problem ?? ''
  await passed(() => problem().includes('keep exiting: 2 exits'), 'the second exit in the route')
  expect(served(appEnvId)).toEqual([])
  const hasLooped = async () => (await status(appEnvId)).health?.verdict === 'CRASH_LOOP'
  await passed(hasLooped, 'CRASH_LOOP')
  const { health } = await status(appEnvId)
  expect(health).toMatchObject({ restarts: 2, lastExit: { code: 1, reason: 'Error' } })
  expect(health?.logTail).toContain('listening')
})

it('a container that refuses connections leaves the rotation until it accepts them again', async () => {
  await start()
  const appEnvId = await deployedFirst()
  const [container] = running('good:1')
  const address = container?.server.address() as AddressInfo
  await new Promise<void>((resolve) => container?.server.close(() => resolve()))
  platform.reconciler?.unreachable(appEnvId, container?.spec.name ?? '')
  await passed(() => served(appEnvId).length === 0, 'out of the rotation')
  await passed(async () => (await status(appEnvId)).health?.verdict === 'UNREACHABLE', 'UNREACHABLE')
  await new Promise<void>((resolve) => container?.server.listen(address.port, '127.0.0.1', resolve))
  await passed(() => served(appEnvId).length === 1, 'back in the rotation')
  await passed(async () => (await status(appEnvId)).health?.verdict === 'HEALTHY', 'HEALTHY')
})
