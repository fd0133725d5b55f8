import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import { remediationFields } from '../../src/contract/remediation-fields.ts'
import type { RemediationRun } from '../../src/contract/remediations.ts'
import type { DiagnosisFixture } from '../diagnosis/fixture.ts'
import { injectFaults } from '../diagnosis/inject-faults.ts'
import type { Seeded } from '../diagnosis/seeded.ts'
import { untilRead } from '../until.ts'

/** What a remediation in mode auto made of one fault. */
interface Remedied {
  name: string
  cause: DiagnosisCause
  /** Diagnosis offered a safe fix of this cause before. */
  hadSafeFix: boolean
  /** `escalated`: it is as before, and people are notified; `none`: no remediation can have this cause as its trigger. */
  result: 'verified' | 'escalated' | 'worse' | 'none'
  reason: string
}

const severities = ['info', 'warning', 'critical']
const verify = { healthyWithinSeconds: 45 }

/** Injects every fault into an environment that has a remediation of its cause, with the step apply-fix. */
export async function remedyFaults(
  fixture: DiagnosisFixture,
  seeded: Seeded,
  options: { atATime: number; only?: RegExp },
): Promise<Remedied[]> {
  const all: Remedied[] = []
  await injectFaults(fixture, seeded, {
    ...options,
    async judge(appEnvId, { name, cause }) {
      const read = () => fixture.diagnosis(appEnvId)
      const isFound = ({ findings }: Awaited<ReturnType<typeof read>>) =>
        findings.some((one) => one.cause === cause)
      // On a busy machine diagnosis sees a fault later than the injection does.
      const before = await untilRead(read, isFound, 'the finding', 30_000).catch(read)
      const finding = before.findings.find((one) => one.cause === cause)
      const hadSafeFix = finding?.fix?.safe === true
      const found = finding ? cause : 'none'
      const row = { name, cause, hadSafeFix }
      if (!remediationFields.trigger.safeParse({ cause }).success) {
        all.push({ ...row, result: 'none', reason: 'This cause starts no remediation.' })
        return { found, heals: null, fix: null }
      }
      const run = await remedied(fixture, appEnvId, cause)
      const after = await fixture.diagnosis(appEnvId)
      const isWorse =
        worst(after) > worst(before) || (before.servingVersion !== null && !after.servingVersion)
      const result = isWorse ? 'worse' : run?.status === 'verified' ? 'verified' : 'escalated'
      all.push({ ...row, result, reason: run ? `${run.status}: ${run.reason}` : 'no run: no evidence' })
      return { found, heals: run?.status === 'verified', fix: finding?.fix?.operation ?? null }
    },
  })
  return all
}

async function remedied(
  fixture: DiagnosisFixture,
  appEnvId: string,
  cause: DiagnosisCause,
): Promise<RemediationRun | undefined> {
  const { remediation } = await fixture.call('create-remediation', {
    ...{ appEnvId, name: `against ${cause}`, trigger: { cause }, steps: [{ action: 'apply-fix' }] },
    ...{ mode: 'auto', minSamples: 2, verify },
  })
  const { remediationId } = remediation
  const runs = async () => (await fixture.call('list-remediation-runs', { remediationId })).runs
  const [run] = await untilRead(
    runs,
    ([one]: RemediationRun[]) => one !== undefined && one.finishedAt !== null,
    `the end of the run against ${cause}`,
    150_000,
  ).catch(runs)
  await fixture.call('toggle-remediation', { remediationId, mode: 'off' })
  return run
}

function worst({ findings }: { findings: readonly { severity: string }[] }): number {
  return Math.max(-1, ...findings.map(({ severity }) => severities.indexOf(severity)))
}

/** The rows of a table, and the totals. */
export function remediedTable(all: readonly Remedied[]): string {
  const rows = all
    .toSorted((a, b) => a.cause.localeCompare(b.cause))
    .map(({ name, cause, hadSafeFix, result, reason }) =>
      [cause.padEnd(22), result.padEnd(10), hadSafeFix ? 'safe fix' : '-       ', `${name} (${reason})`].join(
        ' ',
      ),
    )
  const count = (result: Remedied['result']) => all.filter((one) => one.result === result).length
  const fixable = all.filter(({ hadSafeFix, result }) => hadSafeFix && result !== 'none')
  const verified = fixable.filter(({ result }) => result === 'verified').length
  return [
    ...rows,
    `${all.length} faults: ${count('verified')} verified, ${count('escalated')} escalated, ${count('worse')} worse, ${count('none')} without a remediation`,
    `${verified} of ${fixable.length} with a safe fix verified`,
  ].join('\n')
}
