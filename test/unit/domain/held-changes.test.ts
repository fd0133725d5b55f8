import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Settings } from '../../../src/domain/environments/environment.ts'
import { pendingPaths, withoutPaths } from '../../../src/domain/environments/pending-changes.ts'

const variables = fc
  .uniqueArray(fc.record({ name: fc.constantFrom('A', 'B', 'C', 'D'), value: fc.constantFrom('1', '2') }), {
    selector: ({ name }) => name,
  })
  .map((list) =>
    list.map((one) => ({ ...one, _id: `var_${one.name}`, type: 'DEPLOY' as const, isSecret: false })),
  )

const settings: fc.Arbitrary<Settings> = fc.record({
  zClouds: fc.constantFrom(1, 2),
  branch: fc.constantFrom('main', 'next'),
  containers: fc.constantFrom(1, 2),
  disk: fc.constant(1),
  envVars: variables,
  functionConfig: fc.record(
    { minScale: fc.constantFrom(0, 1), maxScale: fc.constantFrom(2, 3) },
    { requiredKeys: [] },
  ),
  jobConfig: fc.record({ command: fc.constantFrom('a', 'b') }, { requiredKeys: [] }),
  databaseSettings: fc.constant({}),
  useVolume: fc.boolean(),
  mountPath: fc.constantFrom(null, '/data'),
})

it('holds back exactly the named changes, and puts every other in force', () => {
  fc.assert(
    fc.property(settings, settings, fc.infiniteStream(fc.boolean()), (saved, inForce, coin) => {
      const paths = pendingPaths(saved, inForce)
      const held = paths.filter(() => coin.next().value)
      const deployed = withoutPaths(saved, inForce, held)
      expect(pendingPaths(saved, deployed).sort()).toEqual([...held].sort())
      const rest = paths.filter((path) => !held.includes(path))
      expect(pendingPaths(deployed, inForce).sort()).toEqual([...rest].sort())
    }),
    { numRuns: 2_000 },
  )
})
