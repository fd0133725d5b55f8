/**
 * Faults over the whole catalog of causes, in Node, Python and static programs, on every engine of this
 * machine; names and texts follow from the seed. For each: what diagnose-app-env names first, whether its
 * safe fix heals, and the seconds from the injection to the end. Goals:
 *
 * - 90 % of the first findings are right, and every safe fix heals
 * - no finding on 20 healthy environments under load
 *
 *   npm run bench -- diagnosis [--seed 1] [--engine process|docker]
 *       [--only REGEX of names, without healthy ones]
 */
import { parseArgs } from 'node:util'
import { DiagnosisFixture } from '../testkit/diagnosis/fixture.ts'
import {
  diagnoseUnderLoad,
  injectFaults,
  type Outcome,
  startHealthy,
} from '../testkit/diagnosis/inject-faults.ts'
import { Seeded } from '../testkit/diagnosis/seeded.ts'
import { dockerAvailable } from '../testkit/engines/docker-available.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    engine: { type: 'string' },
    only: { type: 'string' },
    /** Faults that are injected at the same time. */
    atATime: { type: 'string', default: '4' },
  },
})
const least = 0.9

for (const kind of ['process', 'docker'] as const) {
  if (values.engine !== undefined && values.engine !== kind) continue
  if (kind === 'docker' && !dockerAvailable) {
    console.error('SKIPPED: the docker engine, because Docker is not available')
    continue
  }
  const fixture = await DiagnosisFixture.start(kind)
  try {
    await measure(kind, fixture)
  } finally {
    await fixture.close()
  }
}
process.exit()

async function measure(kind: string, fixture: DiagnosisFixture): Promise<void> {
  const seeded = new Seeded(Number(values.seed))
  const healthy = await startHealthy(fixture, seeded, values.only === undefined ? 20 : 0)
  const { failed, diagnoses } = await diagnoseUnderLoad(fixture, healthy, seeded)
  for (const appEnvId of healthy) await fixture.call('delete-app-env', { appEnvId })
  const outcomes = await injectFaults(fixture, seeded, {
    atATime: Number(values.atATime),
    onOutcome: (outcome) => console.log(row(outcome)),
    ...(values.only !== undefined && { only: new RegExp(values.only) }),
  })
  const right = outcomes.filter(({ cause, found }) => cause === found).length
  const fixes = outcomes.filter(({ heals }) => heals !== null)
  const healed = fixes.filter(({ heals }) => heals).length
  const findings = diagnoses.flatMap((one) => one.findings)
  console.log(
    `${kind}, seed ${values.seed}: ${right} of ${outcomes.length} first findings right, ` +
      `${healed} of ${fixes.length} safe fixes heal, ` +
      `${findings.length} findings on ${healthy.length} healthy environments under load (${failed} requests failed)\n`,
  )
  for (const { cause, summary } of findings) console.log(`  on a healthy one: ${cause}: ${summary}`)
  const isGood = right >= outcomes.length * least && healed === fixes.length && findings.length === 0
  if (!isGood) process.exitCode = 1
}

function row({ name, cause, found, heals, seconds }: Outcome): string {
  const wrong = cause === found ? '' : ' WRONG'
  const fix = heals === null ? '-' : heals ? 'healed' : 'NOT HEALED'
  return `${name.padEnd(50)} ${cause.padEnd(22)} ${`${found}${wrong}`.padEnd(28)} ${fix.padEnd(10)} ${seconds.toFixed(1).padStart(6)}`
}
