import { defineConfig } from 'vitest/config'

interface TierOptions {
  /** Far above what a test takes: a limit ends a test that hangs, and must never end one on a slow or busy machine. */
  testTimeout: number
  maxWorkers: number
  globalSetup?: string[]
  include?: string[]
}

/**
 * One project for each tier. Tiers with the same `order` share their workers; the others wait, so that files with real
 * processes have the machine.
 */
function tier(
  name: string,
  order: number,
  { testTimeout, maxWorkers, globalSetup = [], include }: TierOptions,
) {
  return {
    test: {
      name,
      include: include ?? [`test/${name}/**/*.test.ts`],
      exclude: include ? [] : ['**/*.long.test.ts'],
      globalSetup: ['testkit/store/setup.ts', ...globalSetup],
      testTimeout,
      hookTimeout: 180_000,
      pool: 'forks' as const,
      // Files of a worker share its modules: loading them again for each file costs a third of the CPU. So a module of
      // testkit registers hooks in a function or constructor, never when it is loaded.
      isolate: false,
      expect: { poll: { timeout: 60_000 } },
      sequence: { groupOrder: order },
      maxWorkers,
    },
  }
}

export default defineConfig({
  test: {
    reporters: ['default', './testkit/summary-reporter.ts'],
    projects: [
      tier('unit', 0, { testTimeout: 180_000, maxWorkers: 3 }),
      tier('platform', 0, { testTimeout: 180_000, maxWorkers: 3 }),
      // These wait for processes and containers more than they compute.
      tier('real', 1, { testTimeout: 240_000, maxWorkers: 5, globalSetup: ['testkit/engines/setup.ts'] }),
      // Faults at every step, kills, rollouts over and over, slow files: too long for each run of a developer.
      tier('long', 2, {
        testTimeout: 240_000,
        maxWorkers: 4,
        globalSetup: ['testkit/engines/setup.ts'],
        include: ['test/{unit,platform,real}/**/*.long.test.ts'],
      }),
      // One cluster for all files, which KUBECONFIG names.
      tier('kubernetes', 3, { testTimeout: 600_000, maxWorkers: 2 }),
      // Not beside containers: Chromium ends all its requests whenever a network interface comes or goes.
      tier('browser', 4, { testTimeout: 180_000, maxWorkers: 3 }),
      tier('long-browser', 4, {
        testTimeout: 240_000,
        maxWorkers: 3,
        include: ['test/browser/**/*.long.test.ts'],
      }),
      // Budgets of time: alone on the machine.
      tier('budget', 5, { testTimeout: 180_000, maxWorkers: 1 }),
    ],
  },
})
