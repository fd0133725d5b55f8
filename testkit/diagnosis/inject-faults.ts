import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import type { DiagnosisFixture } from './fixture.ts'
import { nodeServer, nodeSource, pythonServer, pythonSource } from './programs.ts'
import type { Seeded } from './seeded.ts'
import { type SourceFault, sourceFaults } from './source-faults.ts'
import type { StateFault } from './state-fault.ts'
import { stateFaults } from './state-faults.ts'

export interface Outcome {
  name: string
  cause: DiagnosisCause
  found: string
  /** Null where no safe fix was offered. */
  heals: boolean | null
  /** The call of the safe fix. */
  fix: string | null
  /** From the injection to the diagnosis, and to the end of the fix. */
  seconds: number
}

interface InjectOptions {
  atATime: number
  /** Faults with such names only. */
  only?: RegExp
  onOutcome?: (outcome: Outcome) => void
  /** What is done about a fault; default: the first fix is applied if it is safe. */
  judge?: (appEnvId: string, fault: Pick<Outcome, 'name' | 'cause'>) => Promise<Judgment>
}

type Judgment = Pick<Outcome, 'found' | 'heals' | 'fix'>

/** Injects every fault, and applies the first fix if it is safe. One that cannot be injected counts as not found. */
export async function injectFaults(
  fixture: DiagnosisFixture,
  seeded: Seeded,
  { atATime, only = /./, onOutcome = () => {}, judge = applyFix(fixture) }: InjectOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const run = async (fault: Pick<Outcome, 'name' | 'cause'>, inject: () => Promise<string>) => {
    const startMs = performance.now()
    const failed = (error: Error) => ({
      found: `not injected: ${error.message}`.slice(0, 200),
      heals: null,
      fix: null,
    })
    const { found, heals, fix } = await inject().then((appEnvId) => judge(appEnvId, fault), failed)
    const seconds = (performance.now() - startMs) / 1_000
    const outcome = { name: fault.name, cause: fault.cause, found, heals, fix, seconds }
    outcomes.push(outcome)
    onOutcome(outcome)
  }
  const named = ({ name }: { name: string }) => only.test(name)
  await inParallel(sourceFaults(seeded).filter(named), atATime, (fault) =>
    run(fault, () => deployed(fixture, fault)),
  )
  const injectState = async (fault: StateFault) => {
    await run(fault, () => fault.make(fixture))
    await fault.after?.(fixture)
  }
  const faults = stateFaults(seeded).filter(named)
  const together = faults.filter(({ alone }) => !alone)
  await inParallel(together, atATime, injectState)
  for (const fault of faults) if (fault.alone) await injectState(fault)
  return outcomes
}

function applyFix(fixture: DiagnosisFixture) {
  return async (appEnvId: string): Promise<Judgment> => {
    const { findings } = await fixture.diagnosis(appEnvId)
    const first = findings[0]
    const found = first?.cause ?? 'none'
    if (!first?.fix?.safe) return { found, heals: null, fix: null }
    await fixture.apply(first.fix)
    const after = await fixture.diagnosis(appEnvId)
    const heals = after.findings.every((finding) => finding.cause !== first.cause)
    return { found, heals, fix: first.fix.operation }
  }
}

async function deployed(fixture: DiagnosisFixture, fault: SourceFault): Promise<string> {
  const { source, preset, afterGood, crashes, prints } = fault
  const appEnvId = await fixture.environment(preset ? { dockerPreset: preset } : {})
  if (afterGood) await fixture.deploy(appEnvId, nodeSource(nodeServer()))
  await fixture.deploy(appEnvId, source)
  if (crashes) await fixture.crashed(appEnvId)
  // A version that served before printed one line.
  if (prints) await fixture.printed(appEnvId, afterGood ? 2 : 1)
  return appEnvId
}

/** Environments in Node, Python and static files that work, although their output looks like trouble. */
export async function startHealthy(fixture: DiagnosisFixture, seeded: Seeded, count = 20): Promise<string[]> {
  const noise = `console.error('WARN cache: connect ECONNREFUSED, going on without'); console.log('${seeded.variable()} is not set, using the default')`
  const sources = [
    () => nodeSource(nodeServer("'hello'", noise)),
    () =>
      pythonSource(pythonServer('0.0.0.0', "int(os.environ['PORT'])", 'Traceback of a test: MemoryError')),
    () => ({ 'index.html': `<h1>${seeded.word()}</h1>` }),
  ]
  const healthy: string[] = []
  // Fewer at a time: a start of more than 10 s is a finding.
  await inParallel([...Array(count).keys()], 4, async (index) => {
    const isStatic = index % 3 === 2
    const appEnvId = await fixture.environment(isStatic ? { dockerPreset: 'STATIC' } : {})
    await fixture.deploy(appEnvId, sources[index % 3]!())
    const { currentDeployment } = await fixture.call('get-app-env-status', { appEnvId })
    if (currentDeployment.status !== 'DEPLOYED')
      throw new Error(`a healthy program was not deployed: ${JSON.stringify(currentDeployment.failure)}`)
    healthy.push(appEnvId)
  })
  return healthy
}

/** Loads them all at the same time; returns the findings of their diagnoses, and the number of failed requests. */
export async function diagnoseUnderLoad(
  fixture: DiagnosisFixture,
  healthy: readonly string[],
  seeded: Seeded,
) {
  const samples = await Promise.all(
    healthy.map(async (appEnvId) => ({
      appEnvId,
      containers: [],
      ingress: await fixture.load(appEnvId, seeded.number(30, 60)),
    })),
  )
  await fixture.measured(samples)
  const diagnoses = await Promise.all(healthy.map((appEnvId) => fixture.diagnosis(appEnvId)))
  const failed = samples.reduce((sum, { ingress }) => sum + ingress.answered5xx, 0)
  return { failed, diagnoses }
}

/** `count` at a time: so few that a start is not slow for want of a CPU. */
async function inParallel<T>(
  items: readonly T[],
  count: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: count }, worker))
}
