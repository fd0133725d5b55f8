import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { getAlert } from '../../contract/alerts.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { storyOf } from '../../contract/remediation-story.ts'
import { getRemediationRun, listRemediationRuns, type RemediationRun } from '../../contract/remediations.ts'
import { commandOf, type DemoPerson, type Longshore } from './person.ts'
import { create, deploy, expect, lookAround, newPlot, type Plot, pause } from './scenes.ts'
import { prepareSource } from './source.ts'
import type { Stage } from './stage.ts'
import { get } from './traffic.ts'

const settledWithinMs = 60_000
const requestEveryMs = 25

/** A version that answers errors is deployed; its alert fires, the version before is put back, and the alert verifies that. */
export async function playRemediation(stage: Stage, person: DemoPerson): Promise<string[]> {
  const plot = newPlot()
  const longshore = commandOf(person)
  await lookAround(stage, plot)
  await create(stage, plot)
  const source = await prepareSource(stage)
  await deploy(stage, plot, source)
  const setUp = await remedy(stage, plot, longshore)
  const stopRequests = keepRequesting(stage, plot)
  try {
    await deploy(stage, plot, await brokenCopy(stage, source))
    return storyOf(await repaired(stage, plot, setUp))
  } finally {
    await stopRequests()
  }
}

interface SetUp {
  alertId: string
  remediationId: string
}

async function remedy({ agent, step }: Stage, { appEnvId }: Plot, longshore: Longshore): Promise<SetUp> {
  const { cliEnvName } = await agent.call(getAppEnv, { appEnvId })
  const made: SetUp = { alertId: '', remediationId: '' }
  await step('longshore alerts create', async () => {
    const condition =
      '--metric ingress_5xx_percent --operator gt --threshold 20 --duration 1m --aggregation last'
    const words = ['alerts', 'create', cliEnvName, '--name', 'Errors', ...condition.split(' '), '--json']
    made.alertId = JSON.parse(await longshore(...words)).alert.alertId
    return 'fires when more than 20 % of the requests fail for a minute'
  })
  await step('longshore remediations create', async () => {
    const when = ['--trigger', JSON.stringify({ alertId: made.alertId }), '--mode', 'auto']
    const steps = ['--steps', JSON.stringify({ action: 'rollback' })]
    const words = ['remediations', 'create', cliEnvName, '--name', 'Earlier version', ...when, ...steps]
    made.remediationId = JSON.parse(await longshore(...words, '--json')).remediation.remediationId
    return 'puts the earlier version back when it fires, by itself'
  })
  return made
}

/** The sample, but every answer is an error. */
async function brokenCopy({ workDir }: Stage, source: string): Promise<string> {
  const copy = path.join(workDir, 'broken-function')
  await cp(source, copy, { recursive: true })
  const file = path.join(copy, 'server.js')
  const code = await readFile(file, 'utf8')
  await writeFile(file, code.replace('    response.end(', '    response.statusCode = 500\n    response.end('))
  return copy
}

/** Requests as from users, without a pause; returns a function that ends them. */
function keepRequesting({ signal }: Stage, { address }: Plot): () => Promise<void> {
  let going = true
  const requesting = (async () => {
    while (going && !signal.aborted) {
      await get(address, '/', signal).catch(() => null)
      await pause(requestEveryMs)
    }
  })()
  return async () => {
    going = false
    await requesting
  }
}

async function repaired(
  { agent, step, signal }: Stage,
  { address }: Plot,
  { alertId, remediationId }: SetUp,
): Promise<RemediationRun> {
  const until = async (what: string, holds: () => Promise<boolean>) => {
    const deadlineMs = performance.now() + settledWithinMs
    while (!(await holds())) {
      expect(performance.now() < deadlineMs, `Never happened: ${what}.`)
      await pause(100)
      signal.throwIfAborted()
    }
  }
  await step('get-alert', async () => {
    const state = async () => (await agent.call(getAlert, { alertId })).lastKnownState
    await until('the alert fires', async () => (await state()) === 'Firing')
    return 'the new version answers errors, and the alert fires'
  })
  let runId = ''
  await step('list-remediation-runs', async () => {
    await until('the remediation acts', async () => {
      const [run] = (await agent.call(listRemediationRuns, { remediationId })).runs
      runId = run?.runId ?? ''
      return (run?.steps.length ?? 0) > 0
    })
    return `${runId} puts the earlier version back, without a person`
  })
  let run: RemediationRun | null = null
  await step('get-remediation-run', async () => {
    await until('the run ends', async () => {
      run = await agent.call(getRemediationRun, { runId })
      return run.finishedAt !== null
    })
    const { status, reason } = run!
    expect(status === 'verified', `The run is ${status}: ${reason}`)
    return `verified by its own alert: ${reason}`
  })
  await step('HTTP request through the gateway', async () => {
    const reply = await get(address, '/', signal)
    expect(reply.status === 200, `After the repair the gateway answered ${reply.status}.`)
    return '200 again'
  })
  return run!
}
