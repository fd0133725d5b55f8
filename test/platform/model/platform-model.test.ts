import { afterEach, describe, expect, it } from 'vitest'
import { type Installed, RandomScenario } from '../../../testkit/model/random-scenario.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** The control plane in this process; a restart keeps store and containers, nothing else. */
async function inProcess(): Promise<Installed> {
  // A window of 100 ms: operations come before, in and after it.
  const platform = await TestPlatform.start({ stabilityScale: 100 })
  closers.push(() => platform.close())
  // Slow enough that operations come while something is under way.
  platform.engine.faults.listenDelayMs = 40
  return {
    accountId: platform.accountId,
    region: platform.region,
    ask: (method, path, input, headers) =>
      platform.request(method, path, {
        token: platform.admin.token,
        ...(input && { input }),
        ...(headers && { headers }),
      }),
    restart: () => platform.restart(),
    running: async ({ appEnvId }) =>
      platform.engine
        .running()
        .filter(({ spec }) => spec.appEnvId === appEnvId)
        .map(({ spec }) => spec.env),
  }
}

describe('random operations against a small model', () => {
  // MODEL_SEED runs other scenarios.
  const seed = Number(process.env.MODEL_SEED ?? 1)

  it.each(Array.from({ length: 3 }, (_, index) => seed + index))(
    '3.3 end as the model says, with restarts in between (seed %i)',
    async (each) => {
      const scenario = new RandomScenario(await inProcess(), each)
      await scenario.run(60)
      await scenario.converge()
      expect(scenario.log.length).toBeGreaterThan(30)
    },
    180_000,
  )
})
