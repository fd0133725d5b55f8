import { AppError } from '../../errors.ts'
import { listedPrompts } from './prompts.ts'
import { type CallTool, listedTemplates } from './resources.ts'

interface Completion {
  values: string[]
  total: number
  hasMore: boolean
}

/** The protocol allows no more. */
const mostValues = 100
const mostAccounts = 5
const logTypes = ['RUNTIME', 'BUILD', 'JOB', 'REQUEST']

/** Proposals for an argument of a prompt or a template, as the caller can see the environments. */
export async function completionOf(
  { ref, argument }: Record<string, unknown>,
  toolNames: ReadonlySet<string>,
  callTool: CallTool,
): Promise<Completion> {
  const { name = '', value = '' } = (argument ?? {}) as { name?: string; value?: string }
  if (!argumentsOf(ref as Reference, toolNames).includes(name)) {
    throw new AppError('invalid', 'There is no such argument', {
      details: 'prompts/list and resources/templates/list show the arguments.',
    })
  }
  const known = name === 'envName' ? await environmentNames(value, callTool) : name === 'type' ? logTypes : []
  const wanted = value.toLowerCase()
  const fitting = known.filter((one) => one.toLowerCase().includes(wanted))
  const rank = (one: string) => (one.toLowerCase().startsWith(wanted) ? 0 : 1)
  const sorted = fitting.sort((one, other) => rank(one) - rank(other) || one.localeCompare(other))
  return { values: sorted.slice(0, mostValues), total: sorted.length, hasMore: sorted.length > mostValues }
}

interface Reference {
  type?: string
  name?: string
  uri?: string
}

function argumentsOf(ref: Reference | undefined, toolNames: ReadonlySet<string>): string[] {
  if (ref?.type === 'ref/prompt') {
    const prompt = listedPrompts(toolNames).find(({ name }) => name === ref.name)
    return prompt?.arguments.map(({ name }) => name) ?? []
  }
  const template = listedTemplates(toolNames).find(({ uriTemplate }) => uriTemplate === ref?.uri)
  return [...(template?.uriTemplate.matchAll(/\{(\w+)\}/g) ?? [])].map(([, name]) => name!)
}

async function environmentNames(value: string, callTool: CallTool): Promise<string[]> {
  const { structured } = await callTool('list-accounts', {})
  const accounts = ((structured.accounts ?? []) as { accountId: string }[]).slice(0, mostAccounts)
  const search = value === '' ? {} : { search: value }
  const lists = await Promise.all(
    accounts.map(({ accountId }) => callTool('list-app-envs', { accountId, ...search, maxTokens: 100_000 })),
  )
  return lists.flatMap((one) =>
    ((one.structured.appEnvs ?? []) as { cliEnvName: string | null }[]).flatMap(
      ({ cliEnvName }) => cliEnvName ?? [],
    ),
  )
}
