import { expect, it } from 'vitest'
import type { WorkerDeps } from '../../../../src/regions/machine/worker-deps.ts'
import type { EnvironmentView } from '../../../../src/regions/rollouts/environment-view.ts'
import { RolloutImage } from '../../../../src/regions/rollouts/image.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'

/** Builds of one rollout that end on request. */
function rolloutImage() {
  const builds: { end(): void }[] = []
  let finished = 0
  const deps = {
    clock: new TestClock(),
    engineOf: () => ({}),
    log: { error: () => {}, warn: () => {} },
    images: {
      make: () => new Promise<void>((end) => builds.push({ end })),
    },
  } as unknown as WorkerDeps
  const image = new RolloutImage(
    deps,
    () => {
      finished += 1
    },
    () => {},
  )
  return { image, builds, finished: () => finished }
}

function view(images: Record<string, string>): EnvironmentView {
  const rollout = { rolloutId: 'rol_1', region: 'local', status: 'BUILDING' }
  return { environment: { appEnvId: 'env_1' }, wanted: { rollout, content: { images } } } as never
}

it('a view that was read before a build ended does not begin it again', async () => {
  const { image, builds, finished } = rolloutImage()
  image.look(view({}), image.ended)
  const { ended } = image
  const readBefore = view({})
  builds[0]!.end()
  await expect.poll(finished).toBe(1)
  image.look(readBefore, ended)
  expect(builds).toHaveLength(1)

  image.look(view({ local: 'image' }), image.ended)
  expect(builds).toHaveLength(1)
})

it('an image that is still missing in a view read after the build is built again', async () => {
  const { image, builds, finished } = rolloutImage()
  image.look(view({}), image.ended)
  builds[0]!.end()
  await expect.poll(finished).toBe(1)
  image.look(view({}), image.ended)
  expect(builds).toHaveLength(2)
})

it('a pass that is under way at the stop begins no build', () => {
  const { image, builds } = rolloutImage()
  image.close()
  image.look(view({}), image.ended)
  expect(builds).toHaveLength(0)
})
