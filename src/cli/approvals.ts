import type { Client } from '../client/client.ts'
import { type Approval, decideApproval, getApproval } from '../contract/approvals.ts'
import { operations } from '../contract/index.ts'
import { type Cli, type CliCommand, connected, type Done, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { dryRunLines } from './dry-run.ts'
import { printable } from './progress.ts'
import { wordsOf } from './rows/words.ts'

/** `longshore approvals show|approve|deny`: the effects as they will be, then the decision of a person. */
export function addApprovalCommands(parent: CliCommand, cli: Cli, done: Done): void {
  parent
    .command('show')
    .description('shows the steps of an approval, their effects, and the decisions so far')
    .argument('<approval>', 'its id')
    .runs(cli, done, async ([approvalId]) => {
      const { client } = await connected(cli)
      const approval = await client.call(getApproval, { approvalId })
      print(cli, approval, approvalLines(approval))
      return exitCodes.done
    })
  addDecision(
    parent,
    cli,
    done,
    'approve',
    'approves it: its steps run at once, in the name of the requester',
  )
  addDecision(parent, cli, done, 'deny', 'denies it; the requester reads the comment')
}

function addDecision(
  parent: CliCommand,
  cli: Cli,
  done: Done,
  decision: 'approve' | 'deny',
  words: string,
): void {
  parent
    .command(decision)
    .description(words)
    .argument('<approval>', 'its id')
    .option('--comment <text>', 'why')
    .option(
      '--review <digest>',
      'the digest that approvals show printed, in place of a look and a question now',
    )
    .runs(cli, done, async ([approvalId = ''], { comment, review }) => {
      const { client } = await connected(cli)
      const reviewDigest = await reviewed(cli, client, approvalId, decision, review as string | undefined)
      if (reviewDigest === null) return exitCodes.failed
      const input = { approvalId, reviewDigest, decision, ...(comment === undefined ? {} : { comment }) }
      const answer = await client.call(decideApproval, input)
      print(cli, answer, [printable(answer.message)])
      return answer.approval.status === 'failed' ? exitCodes.failed : exitCodes.done
    })
}

/** What the person saw: a digest that they name, or the steps shown here and a clear yes. Null without it. */
async function reviewed(
  cli: Cli,
  client: Client,
  approvalId: string,
  decision: string,
  review: string | undefined,
): Promise<string | null> {
  if (review !== undefined) return review
  const approval = await client.call(getApproval, { approvalId })
  for (const line of approvalLines(approval)) cli.io.stderr.write(`${line}\n`)
  if (decision === 'deny') return approval.reviewDigest
  const yes = await cli.io.ask?.('Approve exactly this? Type yes: ')
  if (yes?.trim().toLowerCase() === 'yes') return approval.reviewDigest
  cli.io.stderr.write(
    yes === undefined || yes === null
      ? `Nothing was decided: there is no terminal to ask at. Look at it with longshore approvals show ${approvalId}, then give its --review digest.\n`
      : 'Nothing was decided.\n',
  )
  return null
}

function approvalLines(approval: Approval): string[] {
  const {
    approvalId,
    title,
    status,
    requestedBy,
    reason,
    ruleId,
    expiresAt,
    decisions,
    results,
    reviewDigest,
  } = approval
  const by = [requestedBy.kind, requestedBy.agent, requestedBy.name].filter(Boolean).join(' ')
  return [
    `${approvalId}: ${printable(title)} (${status}${status === 'pending' ? ` until ${expiresAt}` : ''})`,
    `  requested by ${printable(by)}${ruleId === null ? '' : `, rule ${printable(ruleId)} asks`}`,
    ...(reason === null ? [] : [`  reason: ${printable(reason)}`]),
    ...approval.steps.flatMap((step, index) => stepLines(approval, step, index)),
    ...decisions.map(
      ({ userId, decision, at, comment }) =>
        `  ${decision} by ${userId} at ${at}${comment === null ? '' : `: ${printable(comment)}`}`,
    ),
    ...results.flatMap(({ error, details }, index) =>
      error === undefined
        ? []
        : [`  step ${index + 1} failed: ${printable(error)} ${printable(details ?? '')}`],
    ),
    ...(status === 'pending' ? [`  review digest: ${reviewDigest}`] : []),
  ]
}

function stepLines(
  { steps, results }: Approval,
  { operation, effects, changes, impact }: Approval['steps'][number],
  index: number,
): string[] {
  const done = results[index] && results[index].error === undefined ? ' (done)' : ''
  const words = operations.some(({ id }) => id === operation) ? wordsOf(operation).join(' ') : operation
  return [
    `  ${index + 1} of ${steps.length}: ${words}${done}; ${impact.actions.join(', ')}${impact.dataLost ? '; DATA IS LOST' : ''}`,
    ...dryRunLines({ effects, changes })
      .slice(0, -1)
      .map((line) => `    ${line}`),
  ]
}
