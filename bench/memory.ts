/**
 * Memory of the platform with 100 functions at zero on the process engine: what its processes use together,
 * pages they share counted once (goal: 200 MB), and what is resident in each.
 *
 *   npm run build && npm run bench -- memory [functions, default 100]
 */
import { readdirSync, readFileSync } from 'node:fs'
import { updateAccount } from '../src/contract/accounts.ts'
import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { availableEngines } from '../testkit/engines/available-engines.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { untilRead } from '../testkit/until.ts'

const functions = Number(process.argv[2] ?? 100)
const goalMb = 200
const settleMs = 10_000
const roles = ['serve', 'gateway', 'supervise']

/** Prints the memory of each process of the installation; returns the sum, shared pages counted once. */
function tell(what: string, home: string): number {
  let sum = 0
  const parts: string[] = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (!args.includes(home) && !environment.includes(`LONGSHORE_HOME=${home}`)) continue
      const role = roles.find((name) => args.includes(name))
      if (!role) continue
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(rollup)?.[1]) / 1024
      sum += mb('Pss')
      parts.push(`${role} ${mb('Rss').toFixed(0)} MB resident, ${mb('Private_Dirty').toFixed(0)} of its own`)
    } catch {
      // Ended meanwhile.
    }
  }
  process.stdout.write(`${what}: ${sum.toFixed(0)} MB together (${parts.join('; ')})\n`)
  return sum
}

const base = (await availableEngines()).find(({ engine }) => engine === 'process')?.base
if (!base) throw new Error('the process engine is not here')
const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '1000' })
await installation.start()
try {
  const client = installation.client()
  const { accountId } = installation.ready
  await client.call(updateAccount, { accountId, zCloudLimit: 10 * functions })
  tell('started', installation.home)
  for (let index = 0; index < functions; index++) {
    const { appEnvId } = await makeFunction(installation, `idle ${index}`)
    await deploy(installation, appEnvId, sampleSource(base))
    await untilDeployed(installation, appEnvId)
    if (index < functions - 1) continue
    const atZero = ({ containers }: { containers: { running: number } }) => containers.running === 0
    await untilRead(() => client.call(getAppEnvStatus, { appEnvId }), atZero, 'zero containers')
  }
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  const mb = tell(`${functions} functions at zero`, installation.home)
  process.stdout.write(`goal: at most ${goalMb} MB\n`)
  if (mb > goalMb) process.exitCode = 1
} finally {
  await installation.dispose()
}
