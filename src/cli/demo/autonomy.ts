import { updateAppEnvVariables } from '../../contract/app-env-actions.ts'
import { createAppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { getApproval, proposePlan } from '../../contract/approvals.ts'
import { createApp } from '../../contract/apps.ts'
import { type DemoAgent, startDemoAgent, ToolRefusal } from './agent.ts'
import { commandOf, type DemoPerson, type Longshore } from './person.ts'
import { expect, lookAround, newPlot, type Plot } from './scenes.ts'
import type { Stage } from './stage.ts'

/** A read-only agent proposes, a person approves, it runs once, and the person undoes it. */
export async function playAutonomy(stage: Stage, person: DemoPerson): Promise<void> {
  const plot = newPlot()
  await lookAround(stage, plot)
  await createShop(stage, plot)
  const longshore = commandOf(person)
  const reader = await readOnlyAgent(stage, person, longshore)
  try {
    await proposal(stage, plot, { reader, longshore })
  } finally {
    await reader.close()
  }
}

async function createShop({ agent, step, created }: Stage, plot: Plot): Promise<void> {
  await step('an environment', async () => {
    const { accountId, region } = plot
    const { appId } = await agent.call(createApp, {
      name: 'shop',
      accountId,
      port: 8080,
      dockerPreset: 'FUNCTION',
    })
    plot.appEnvId = (await agent.call(createAppEnv, { accountId, appId, name: 'prod', region })).appEnvId
    created.appEnvId = plot.appEnvId
    return (await agent.call(getAppEnv, { appEnvId: plot.appEnvId })).cliEnvName
  })
}

async function readOnlyAgent({ step }: Stage, person: DemoPerson, longshore: Longshore): Promise<DemoAgent> {
  let token = ''
  await step('longshore token create --kind agent --read-only', async () => {
    const words = ['--kind', 'agent', '--read-only', '--name', 'reader', '--label', 'Reading agent']
    token = await longshore('token', 'create', ...words)
    return 'a token for an agent that reads, and may propose the rest'
  })
  return startDemoAgent(person.entry, { ...person.env, LONGSHORE_TOKEN: token })
}

async function proposal(
  { step }: Stage,
  { accountId, appEnvId }: Plot,
  { reader, longshore }: { reader: DemoAgent; longshore: Longshore },
): Promise<void> {
  const input = { appEnvId, set: [{ name: 'LOG_LEVEL', value: 'debug', isSecret: false }] }
  const variables = async () => (await reader.call(getAppEnv, { appEnvId })).envVars.map(({ name }) => name)
  await step('update-app-env-variables', async () => {
    const refusal = await reader.call(updateAppEnvVariables, input).catch((error: unknown) => error)
    expect(refusal instanceof ToolRefusal, 'A read-only agent could write.')
    return `refused: ${refusal.message.split('\n')[0]}`
  })
  let approvalId = ''
  let reviewDigest = ''
  await step('propose-plan', async () => {
    const steps = [{ operation: updateAppEnvVariables.id, input }]
    const plan = { accountId, title: 'Log more', reason: 'The shop is slow.', steps }
    ;({ approvalId, reviewDigest } = await reader.call(proposePlan, plan))
    expect((await variables()).length === 0, 'A proposal changed something.')
    return `waits as ${approvalId}, and nothing changed`
  })
  let auditId: string | null = null
  await step('longshore approvals approve', async () => {
    const shown = await longshore('approvals', 'show', approvalId)
    expect(shown.includes('envVars.LOG_LEVEL'), 'The approval does not show the change.')
    await longshore('approvals', 'approve', approvalId, '--review', reviewDigest)
    const { status, results } = await reader.call(getApproval, { approvalId })
    expect(status === 'executed', `The approval is ${status}, not executed.`)
    expect((await variables()).includes('LOG_LEVEL'), 'The approved change was not made.')
    auditId = results[0]?.auditId ?? null
    return 'a person saw the change and agreed; it ran once, in the name of the agent'
  })
  await step('longshore audit undo', async () => {
    expect(auditId !== null, 'The step has no entry in the audit log.')
    await longshore('audit', 'undo', auditId)
    expect((await variables()).length === 0, 'The change was not undone.')
    return 'the variable is gone again'
  })
}
