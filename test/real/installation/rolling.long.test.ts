import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { rollUnderLoad } from '../../../testkit/gateway/rolling-load.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

for (const { engine, base } of await availableEngines()) {
  describe(`deployments under load on the ${engine} engine`, () => {
    const settings = { LONGSHORE_ENGINE: engine, LONGSHORE_GATEWAY_PROCESSES: '2' }
    const installation = new Installation(settings)
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose())

    it('loses no request over 3 deployments and 3 rolling restarts in a row', async () => {
      const plan = { deploys: 3, restarts: 3, connections: 4, atLeast: 2_000 }
      const { requests, lost, versions } = await rollUnderLoad(installation, base, plan)
      expect(lost).toEqual([])
      expect(requests).toBeGreaterThanOrEqual(2_000)
      expect(versions.at(-1)).toBe(3)
    })
  })
}
