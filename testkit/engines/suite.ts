import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { buildGuarantees } from './suite-build.ts'
import { commandGuarantees } from './suite-commands.ts'
import { type EngineSuiteOptions, type EngineUnderTest, SuiteInstallation } from './suite-installation.ts'
import { endGuarantees, startGuarantees } from './suite-life.ts'
import { adoptionGuarantees, logGuarantees, observationGuarantees } from './suite-observation.ts'
import { volumeGuarantees } from './suite-volumes.ts'

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
    describe('build', () => buildGuarantees(suite))
    describe('start', () => startGuarantees(suite))
    describe('commands', () => commandGuarantees(suite))
    describe('end', () => endGuarantees(suite, options))
    describe('adoption', () => adoptionGuarantees(suite))
    describe('volumes', () => volumeGuarantees(suite))
    describe('logs', () => logGuarantees(suite))
    describe('usage and hints', () => observationGuarantees(suite))
  })
}
