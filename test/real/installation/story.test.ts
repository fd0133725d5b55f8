import { afterAll, beforeAll, describe } from 'vitest'
import { enginesHere } from '../../../testkit/engines/engines-here.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { describeMainJob } from '../../../testkit/platform/main-job-suite.ts'

for (const { engine, base } of await enginesHere()) {
  describe(`on the ${engine} engine`, () => {
    // Idle periods run 150 times faster: the least, 300 s, is 2 s.
    const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: '150' })
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose())
    describeMainJob({ installation, region: 'local', base, stopped: 503, holdMs: 1_400 })
  })
}
