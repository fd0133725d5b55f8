import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enginesHere } from '../support/engines-here.ts'
import { Installation } from '../support/installation.ts'
import { rollUnderLoad } from '../support/rolling-load.ts'

for (const { engine, base } of await enginesHere()) {
  describe(`deployments under load on the ${engine} engine`, () => {
    const installation = new Installation({ LONGSHORE_ENGINE: engine })
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose(), 60_000)

    it('loses no request over 4 deployments in a row', async () => {
      const { requests, lost, versions } = await rollUnderLoad(installation, base, 4, 4)
      expect(lost).toEqual([])
      expect(requests).toBeGreaterThan(100)
      expect(versions.at(-1)).toBe(4)
    }, 120_000)
  })
}
