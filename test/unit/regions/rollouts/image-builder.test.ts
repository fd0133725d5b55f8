import { expect, it, vi } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { createLog } from '../../../../src/log.ts'
import type { EnvironmentView, RolloutView } from '../../../../src/regions/rollouts/environment-view.ts'
import { ImageBuilder, type ImageBuilderDeps } from '../../../../src/regions/rollouts/image-builder.ts'

/** Builds that run until they are ended, by environment. */
function imageBuilder() {
  const ends = new Map<string, () => void>()
  const deps = {
    clock: systemClock,
    log: createLog('test', 'silent'),
    masks: { of: async () => (line: string) => line },
    logs: { append: () => {} },
    db: { read: async () => ({ uploadId: 'upl_1', extension: '.tgz' }) },
    uploads: { path: () => 'upl_1' },
    rollouts: { imageReady: async () => {} },
    builder: ({ content }: { content: { appEnvId: string } }) =>
      new Promise((resolve) =>
        ends.set(content.appEnvId, () => resolve({ image: 'image', gitCommitId: null })),
      ),
  } as unknown as ImageBuilderDeps
  const builder = new ImageBuilder(deps)
  const make = (accountId: string, appEnvId: string) => {
    const view = { environment: { accountId, appEnvId }, app: {} } as EnvironmentView
    const wanted = {
      rollout: { rolloutId: `rol_${appEnvId}`, settings: { envVars: [] } },
      content: { type: 'BUILD', contentId: 'con_1', gitBranch: null },
      app: {},
    } as unknown as RolloutView
    return builder.make({} as never, view, wanted, new AbortController().signal)
  }
  return { make, ends }
}

it('the account of the environment decides the turn, and a wait for it takes nothing of the build time', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  const { make, ends } = imageBuilder()
  const first = make('acc_a', 'env_1')
  void make('acc_a', 'env_2')
  void make('acc_a', 'env_3')
  void make('acc_b', 'env_4')
  await vi.waitFor(() => expect([...ends.keys()]).toEqual(['env_1', 'env_2']))
  expect(timeout).toHaveBeenCalledTimes(2)
  ends.get('env_1')!()
  await first
  await vi.waitFor(() => expect([...ends.keys()]).toEqual(['env_1', 'env_2', 'env_4']))
  expect(timeout).toHaveBeenCalledTimes(3)
})
