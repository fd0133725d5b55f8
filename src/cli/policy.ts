import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { operations } from '../contract/index.ts'
import type { OutputOf } from '../contract/operation.ts'
import {
  getPolicy,
  type PolicyContent,
  policyContent,
  replayPolicy,
  startingPolicies,
  updatePolicy,
} from '../contract/policy.ts'
import { policyEffects } from '../contract/policy-decision.ts'
import type { PolicyCall } from '../domain/policy/call.ts'
import { compilePolicy, decide } from '../domain/policy/decide.ts'
import { startingPolicy } from '../domain/policy/starting.ts'
import { problemOf } from '../domain/policy/validate.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, print } from './command.ts'
import { exitCodes, UsageError } from './command-io.ts'
import { printable } from './progress.ts'
import { accountOf } from './rows/command.ts'

const accountOption = ['--account <account>', 'its id or name; not needed with one account'] as const

/** `longshore policy`: read, change, test and switch the policy of an account. */
export function addPolicyCommands(policy: CliCommand, cli: Cli, done: Done): void {
  policy
    .command('show')
    .description('show the policy, and the writes of the last 7 days that it would have held or denied')
    .option(...accountOption)
    .runs(cli, done, async (_args, { account }) => {
      const { client } = await connected(cli)
      const accountId = await accountOf(client, account)
      const found = await client.call(getPolicy, { accountId })
      const replay = await client.call(replayPolicy, { accountId }).catch(notAllowed)
      print(cli, { ...found, replay }, [...policyLines(found), ...(replay ? replayLines(replay) : [])])
      return exitCodes.done
    })
  policy
    .command('set')
    .description(
      `replace the policy: a file (YAML or JSON), or a starting policy (${startingPolicies.join(', ')})`,
    )
    .argument('<file>', 'the file, or the name of a starting policy')
    .option(...accountOption)
    .runs(cli, done, async ([file = ''], { account }) => {
      const content = startOf(file) ? { start: file } : { ...policyIn(readDocument(file)) }
      return change(cli, account, content)
    })
  policy
    .command('test')
    .description('check a policy without a platform: its names, and the decisions of the calls in the file')
    .argument('<file>', 'YAML or JSON: a policy, or policy with calls and what each expects')
    .runs(cli, done, async ([file = '']) => test(cli, readDocument(file)))
  for (const [mode, about] of [
    ['enforce', 'put the policy in force'],
    ['observe', 'stop nothing: the audit log says what the policy would have decided'],
  ] as const)
    policy
      .command(mode)
      .description(about)
      .option(...accountOption)
      .runs(cli, done, (_args, { account }) => change(cli, account, { mode }))
}

function startOf(word: string): boolean {
  return startingPolicies.some((one) => one === word)
}

async function change(cli: Cli, account: unknown, content: Record<string, unknown>): Promise<number> {
  const { client } = await connected(cli)
  const accountId = await accountOf(client, account)
  const { message, policy } = await client.call(updatePolicy, { accountId, ...content })
  print(cli, { message, policy }, [`${message}.`, ...policyLines(policy)])
  return exitCodes.done
}

/** Members read the policy, only admins replay it. */
function notAllowed(error: unknown): null {
  if (error instanceof AppError && error.kind === 'forbidden') return null
  throw error
}

function policyLines({
  mode,
  rules,
  freezes,
  budgets,
  revision,
}: Omit<OutputOf<typeof getPolicy>, 'platform' | 'usage'>): string[] {
  return [
    `Revision ${revision}, ${mode === 'observe' ? 'observed: nothing is stopped (longshore policy enforce)' : 'in force'}.`,
    ...rules.map(
      ({ id, effect, message }) =>
        `  ${effect.padEnd(5)} ${id}${message ? `: ${printable(String(message))}` : ''}`,
    ),
    ...freezes.map(({ id }) => `  deny  ${id} (freeze)`),
    ...budgets.map(
      ({ id, of, meter, window, hard, onHard }) =>
        `  ${onHard.padEnd(5)} ${id}: more than ${hard} ${meter} in ${window} for each ${of}`,
    ),
  ]
}

function replayLines({ writes, effects, entries, skipped }: OutputOf<typeof replayPolicy>): string[] {
  return [
    `Of ${writes} writes in the last 7 days it would hold ${effects.ask} and deny ${effects.deny}${skipped > 0 ? `; ${skipped} are too old to decide` : ''}.`,
    ...entries
      .slice(-10)
      .map(
        ({ timestamp, operation, objectId, effect, ruleId }) =>
          `  ${timestamp} ${operation} ${objectId}: ${effect} by ${ruleId}`,
      ),
  ]
}

function readDocument(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** What a test expects of a call: its effect, or also the rule. */
const testCall = z.looseObject({
  name: z.string().optional(),
  operation: z.string(),
  at: z.string().optional(),
  expect: z
    .union([
      z.enum(policyEffects),
      z.strictObject({ effect: z.enum(policyEffects), ruleId: z.string().nullable() }),
    ])
    .optional(),
})
type TestCall = z.output<typeof testCall>

/** Throws `UsageError` with the place of a problem. */
function policyIn(document: unknown): PolicyContent {
  const given = (document as { policy?: unknown } | null)?.policy ?? document
  const parsed = policyContent.safeParse(
    typeof given === 'string' && startOf(given) ? startingPolicy(given as 'open') : given,
  )
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new UsageError(`${path.join('.')}: ${message}`)
  }
  const found = problemOf(parsed.data, { operations, members: null, tokens: null })
  if (found) throw new UsageError(`${found.place}: ${found.problem}`)
  return parsed.data
}

function test(cli: Cli, document: unknown): number {
  const policy = compilePolicy(policyIn(document))
  const calls = z.array(testCall).safeParse((document as { calls?: unknown } | null)?.calls ?? [])
  if (!calls.success)
    throw new UsageError(`calls.${calls.error.issues[0]!.path.join('.')}: ${calls.error.issues[0]!.message}`)
  const results = calls.data.map((call) => {
    const { effect, ruleId, message } = decide(policy, completed(call), () => ({}))
    const { expect } = call
    const wanted = typeof expect === 'string' ? { effect: expect } : expect
    const holds =
      wanted === undefined ||
      (wanted.effect === effect && (!('ruleId' in wanted) || wanted.ruleId === ruleId))
    return { name: call.name ?? call.operation, effect, ruleId, message, holds }
  })
  const lines = results.map(
    ({ name, effect, ruleId, holds }) =>
      `${holds ? '✓' : '✗'} ${printable(name)}: ${effect}${ruleId === null ? '' : ` by ${ruleId}`}`,
  )
  print(cli, { results }, ['The policy can be used.', ...lines])
  return results.every(({ holds }) => holds) ? exitCodes.done : exitCodes.failed
}

const noImpact = {
  ...{
    actions: ['change-settings'],
    environments: [],
    serving: false,
    containersEnded: 0,
    containersStarted: 0,
  },
  ...{ downtimeSeconds: 0, dataLost: false, undo: 'undo-change', zCloudsDelta: 0, peopleNotified: 0 },
  variables: { changed: [], appliedOf: [] },
}

/** A call of a test file: what it leaves out is a plain change of settings by an agent over MCP. */
function completed(given: TestCall): PolicyCall {
  const call = given as TestCall & Partial<Record<'caller' | 'impact' | 'environments', object>>
  const caller = {
    kind: 'agent',
    userId: null,
    membershipId: null,
    tokenId: null,
    agent: null,
    agentKey: null,
    surface: 'mcp',
  }
  return {
    accountId: null,
    ...call,
    at: call.at ?? new Date().toISOString(),
    caller: { ...caller, ...call.caller },
    environments: ((call.environments ?? []) as object[]).map((one) => ({
      ...{ appEnvId: '', envName: '', app: '', labels: [], protected: false },
      ...one,
    })),
    impact: { ...noImpact, ...call.impact },
  } as unknown as PolicyCall
}
