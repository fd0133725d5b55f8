import { defineConfig } from 'vitest/config'

/** One project for each tier; `order` keeps the tiers apart, so that files with real processes have the machine. */
function tier(name: string, order: number, options: { testTimeout?: number; maxWorkers?: number } = {}) {
  return {
    test: {
      name,
      include: [`test/${name}/**/*.test.ts`],
      globalSetup: ['testkit/store/setup.ts'],
      testTimeout: 20_000,
      hookTimeout: 60_000,
      pool: 'forks' as const,
      expect: { poll: { timeout: 10_000 } },
      sequence: { groupOrder: order },
      ...options,
    },
  }
}

export default defineConfig({
  test: {
    projects: [
      tier('unit', 0, { maxWorkers: 2 }),
      tier('platform', 1, { maxWorkers: 2 }),
      tier('real', 2, { maxWorkers: 4 }),
      tier('browser', 3, { maxWorkers: 2 }),
    ],
  },
})
