import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import type { DiagnosisBed } from './bed.ts'
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
  /** From the injection to the diagnosis, and to the end of the fix. */
  seconds: number
}

interface PlayOptions {
  atATime: number
  /** Faults with such names only. */
  only?: RegExp
  onOutcome?: (outcome: Outcome) => void
}

/** Injects every fault, and applies the first fix if it is safe. One that cannot be injected counts as not found. */
export async function playFaults(
  bed: DiagnosisBed,
  seeded: Seeded,
  { atATime, only = /./, onOutcome = () => {} }: PlayOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const play = async (fault: Pick<Outcome, 'name' | 'cause'>, inject: () => Promise<string>) => {
    const startMs = performance.now()
    const failed = (error: Error) => ({ found: `not injected: ${error.message}`.slice(0, 200), heals: null })
    const { found, heals } = await inject().then((appEnvId) => judge(bed, appEnvId), failed)
    const seconds = (performance.now() - startMs) / 1_000
    const outcome = { name: fault.name, cause: fault.cause, found, heals, seconds }
    outcomes.push(outcome)
    onOutcome(outcome)
  }
  const named = ({ name }: { name: string }) => only.test(name)
  await inParallel(sourceFaults(seeded).filter(named), atATime, (fault) =>
    play(fault, () => deployed(bed, fault)),
  )
  const playState = async (fault: StateFault) => {
    await play(fault, () => fault.make(bed))
    await fault.after?.(bed)
  }
  const faults = stateFaults(seeded).filter(named)
  const together = faults.filter(({ alone }) => !alone)
  await inParallel(together, atATime, playState)
  for (const fault of faults) if (fault.alone) await playState(fault)
  return outcomes
}

async function judge(bed: DiagnosisBed, appEnvId: string): Promise<Pick<Outcome, 'found' | 'heals'>> {
  const { findings } = await bed.diagnosis(appEnvId)
  const first = findings[0]
  const found = first?.cause ?? 'none'
  if (!first?.fix?.safe) return { found, heals: null }
  await bed.apply(first.fix)
  const after = await bed.diagnosis(appEnvId)
  return { found, heals: after.findings.every((finding) => finding.cause !== first.cause) }
}

async function deployed(bed: DiagnosisBed, fault: SourceFault): Promise<string> {
  const { source, preset, afterGood, crashes, prints } = fault
  const appEnvId = await bed.environment(preset ? { dockerPreset: preset } : {})
  if (afterGood) await bed.deploy(appEnvId, nodeSource(nodeServer()))
  await bed.deploy(appEnvId, source)
  if (crashes) await bed.crashed(appEnvId)
  // A version that served before printed one line.
  if (prints) await bed.printed(appEnvId, afterGood ? 2 : 1)
  return appEnvId
}

/** Environments in Node, Python and static files that work, although what they print looks like trouble. */
export async function startHealthy(bed: DiagnosisBed, seeded: Seeded, count = 20): Promise<string[]> {
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
    const appEnvId = await bed.environment(isStatic ? { dockerPreset: 'STATIC' } : {})
    await bed.deploy(appEnvId, sources[index % 3]!())
    const { currentDeployment } = await bed.call('get-app-env-status', { appEnvId })
    if (currentDeployment.status !== 'DEPLOYED')
      throw new Error(`a healthy program was not deployed: ${JSON.stringify(currentDeployment.failure)}`)
    healthy.push(appEnvId)
  })
  return healthy
}

/** Loads them all at the same time; answers what their diagnoses found, and how many requests failed. */
export async function diagnoseUnderLoad(bed: DiagnosisBed, healthy: readonly string[], seeded: Seeded) {
  const samples = await Promise.all(
    healthy.map(async (appEnvId) => ({
      appEnvId,
      containers: [],
      ingress: await bed.load(appEnvId, seeded.number(30, 60)),
    })),
  )
  await bed.measured(samples)
  const diagnoses = await Promise.all(healthy.map((appEnvId) => bed.diagnosis(appEnvId)))
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
