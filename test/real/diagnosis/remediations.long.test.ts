import { afterAll, beforeAll, expect, it } from 'vitest'
import { DiagnosisFixture } from '../../../testkit/diagnosis/fixture.ts'
import { Seeded } from '../../../testkit/diagnosis/seeded.ts'
import { remediedTable, remedyFaults } from '../../../testkit/remediation/catalog.ts'

const seed = Number(process.env.TEST_SEED ?? 1)
const only = new RegExp(process.env.TEST_FAULTS ?? '.')
let fixture: DiagnosisFixture

beforeAll(async () => {
  fixture = await DiagnosisFixture.start()
  fixture.platform.remediations.start()
})
afterAll(() => fixture.close())

it(`faults of the catalog with remediations in mode auto, seed ${seed}: most safe fixes are verified, and nothing gets worse`, {
  timeout: 1_800_000,
}, async () => {
  const all = await remedyFaults(fixture, new Seeded(seed), { atATime: 8, only })
  console.log(remediedTable(all))
  const fixable = all.filter(({ hadSafeFix, result }) => hadSafeFix && result !== 'none')
  const verified = fixable.filter(({ result }) => result === 'verified')
  expect(all.filter(({ result }) => result === 'worse')).toEqual([])
  expect(verified.length).toBeGreaterThanOrEqual(fixable.length * 0.8)
  // A run without a safe fix changes nothing.
  expect(all.filter(({ hadSafeFix, result }) => !hadSafeFix && result === 'verified')).toEqual([])
  if (process.env.TEST_FAULTS === undefined) expect(all.length).toBeGreaterThanOrEqual(40)
})
