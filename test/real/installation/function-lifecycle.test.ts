import { afterAll, beforeAll, describe } from 'vitest'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { describeFunctionLifecycle } from '../../../testkit/platform/function-lifecycle-suite.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

for (const { engine, base } of await availableEngines()) {
  describe(`on the ${engine} engine`, () => {
    // Idle periods run 150 times faster: the least, 300 s, is 2 s.
    const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: '150' })
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose())
    describeFunctionLifecycle({ installation, region: 'local', base, stopped: 503, holdMs: 1_400 })
  })
}
