import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { buildPromises } from './suite-build.ts'
import { commandPromises } from './suite-commands.ts'
import { type EngineSuiteOptions, type EngineUnderTest, SuiteInstallation } from './suite-installation.ts'
import { endPromises, startPromises } from './suite-life.ts'
import { adoptionPromises, logPromises, observationPromises } from './suite-observation.ts'
import { volumePromises } from './suite-volumes.ts'

export type { EngineUnderTest } from './suite-installation.ts'
export { until } from './suite-installation.ts'

/** Tests every promise of the engine port on a real engine. */
export function describeEngine(
  name: string,
  makeEngine: () => Promise<EngineUnderTest>,
  options: EngineSuiteOptions = {},
): void {
  if (options.absent) {
    describe.skip(`${name} engine (absent: ${options.absent})`, () => {
      it('is tested where the engine is there', () => {})
    })
    return
  }
  describe(`${name} engine`, () => {
    const suite = new SuiteInstallation(makeEngine)
    beforeAll(() => suite.start())
    afterEach(() => suite.removeContainers())
    afterAll(() => suite.finish())
    describe('build', () => buildPromises(suite))
    describe('start', () => startPromises(suite))
    describe('commands', () => commandPromises(suite))
    describe('end', () => endPromises(suite, options))
    describe('adoption', () => adoptionPromises(suite))
    describe('volumes', () => volumePromises(suite))
    describe('logs', () => logPromises(suite))
    describe('usage and hints', () => observationPromises(suite))
  })
}
