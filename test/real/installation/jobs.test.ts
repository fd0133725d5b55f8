import { afterAll, beforeAll, describe } from 'vitest'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { describeJobs } from '../../../testkit/jobs/suite.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

for (const { engine, base } of await availableEngines()) {
  describe(`on the ${engine} engine`, () => {
    // Back-off runs 100 times faster: the first retry comes after 0.1 s. Deadlines are not scaled.
    const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: '100' })
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose())
    describeJobs({ installation, region: 'local', base })
  })
}
