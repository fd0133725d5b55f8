import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { diagnosisCauses } from '../../../src/contract/diagnosis.ts'
import { DiagnosisBed } from '../../../testkit/diagnosis/bed.ts'
import { diagnoseUnderLoad, playFaults, startHealthy } from '../../../testkit/diagnosis/play.ts'
import { Seeded } from '../../../testkit/diagnosis/seeded.ts'

const seed = Number(process.env.TEST_SEED ?? 1)
const seeded = new Seeded(seed)
let bed: DiagnosisBed

beforeAll(async () => {
  bed = await DiagnosisBed.start()
})
afterAll(() => bed.close())

// `npm run bench -- diagnosis` plays them on Docker too.
describe(`faults with texts of seed ${seed} (TEST_SEED plays others)`, () => {
  it('G2 has no finding on 20 healthy environments under load', async () => {
    const healthy = await startHealthy(bed, seeded)
    const { failed, diagnoses } = await diagnoseUnderLoad(bed, healthy, seeded)
    expect(failed).toBe(0)
    expect(diagnoses.flatMap(({ findings }) => findings)).toEqual([])
    expect(diagnoses.every((one) => one.healthy && one.checked.includes('logs'))).toBe(true)
  })

  it('G1 G3 the first finding names the cause of 90 % of the faults, and each safe fix heals', async () => {
    const outcomes = await playFaults(bed, seeded, { atATime: 12 })
    const wrong = outcomes.filter(({ cause, found }) => cause !== found)
    expect(outcomes.length).toBeGreaterThanOrEqual(40)
    expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(outcomes.length * 0.1)
    expect(outcomes.filter(({ heals }) => heals === false)).toEqual([])
    expect(outcomes.filter(({ heals }) => heals === true).length).toBeGreaterThanOrEqual(6)
    const played = new Set(outcomes.map(({ cause }) => cause))
    // Played by tests of their own, or out of reach of this bed: a Git host, a half-hour build, an engine of another kind.
    const elsewhere = ['failing-checks', 'failed-run', 'volume-path']
    const unplayed = [...elsewhere, 'git-fetch', 'build-timeout', 'interrupted', 'not-supported']
    expect(diagnosisCauses.filter((cause) => !played.has(cause) && !unplayed.includes(cause))).toEqual([])
  })
})
