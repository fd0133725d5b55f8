import { type ToolGroup, toolGroups } from '../../contract/tool-groups.ts'
import { AppError } from '../../errors.ts'
import { defaultTools } from './default-tools.ts'
import { defaultToolPolicy, narrowed, type ServerScope, type ToolPolicy } from './tool-policy.ts'

/**
 * The names of the choices, the same as flags (`--read-only`), in the address of `/mcp` (`?read-only=1`) and as
 * headers (`Longshore-Read-Only: 1`).
 */
export const toolPolicyOptions = {
  'read-only': 'switch',
  'no-destructive': 'switch',
  tools: 'list',
  'exclude-tools': 'list',
  account: 'id',
  app: 'id',
  env: 'id',
} as const

export type ToolPolicyOption = keyof typeof toolPolicyOptions

/** The options that a variable sets too: those that limit what every agent of this installation or shell may do. */
const variables: Readonly<Record<string, ToolPolicyOption>> = {
  LONGSHORE_READ_ONLY: 'read-only',
  LONGSHORE_NO_DESTRUCTIVE: 'no-destructive',
  LONGSHORE_TOOLS: 'tools',
  LONGSHORE_EXCLUDE_TOOLS: 'exclude-tools',
}

/** The choices of the variables. Throws `invalid`, with the name of the variable, for one that is not understood. */
export function toolPolicyOfVariables(
  env: Readonly<Record<string, string | undefined>>,
  toolNames: readonly string[],
): ToolPolicy {
  const set = Object.entries(variables).filter(([name]) => (env[name] ?? '') !== '')
  const policies = set.map(([name, option]) => {
    try {
      return readToolPolicy([[option, env[name]!]], toolNames)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      throw wrong(`${name}: ${error.message}`, error.details ?? '')
    }
  })
  return policies
    .map((one) => ({ ...one, allowSecrets: true }))
    .reduce(narrowed, { ...defaultToolPolicy, allowSecrets: true })
}

/** Whether `LONGSHORE_READ_ONLY` is on. Throws `invalid` if it is not understood. */
export function isReadOnlyShell(env: Readonly<Record<string, string | undefined>>): boolean {
  return toolPolicyOfVariables({ LONGSHORE_READ_ONLY: env.LONGSHORE_READ_ONLY }, []).readOnly
}

export function isToolPolicyOption(name: string): name is ToolPolicyOption {
  return Object.hasOwn(toolPolicyOptions, name)
}

/** Placeholder and description of each option in the help of commands. */
export const toolPolicyHelp: Readonly<Record<ToolPolicyOption, readonly [value: string, what: string]>> = {
  'read-only': ['[on]', 'no tool that changes anything exists'],
  'no-destructive': ['[on]', 'no tool that destroys anything exists'],
  tools: [
    '<groups>',
    `only these groups, in place of the ${defaultTools.size} usual tools: ${toolGroups.join(', ')}, or all`,
  ],
  'exclude-tools': ['<names>', 'not these tools'],
  account: ['<id>', 'hold every call to this account'],
  app: ['<id>', 'hold every call to this app'],
  env: ['<id or name>', 'hold every call to this environment'],
}

/**
 * The choices that `given` states, each at most once. Throws `invalid` on a value that is not understood: a
 * mistyped safety option must not be passed over. `toolNames` are the tools there are.
 */
export function readToolPolicy(
  given: readonly (readonly [option: ToolPolicyOption, value: string])[],
  toolNames: readonly string[],
): ToolPolicy {
  const seen = new Set<ToolPolicyOption>()
  const toolPolicy = { ...defaultToolPolicy, scope: { ...defaultToolPolicy.scope } }
  for (const [option, value] of given) {
    if (seen.has(option))
      throw wrong(`${option} is given twice`, 'Give it once; lists are separated by commas.')
    seen.add(option)
    apply(toolPolicy, option, value, toolNames)
  }
  return toolPolicy
}

function apply(
  toolPolicy: ToolPolicy & { scope: ServerScope },
  option: ToolPolicyOption,
  value: string,
  toolNames: readonly string[],
): void {
  switch (option) {
    case 'read-only':
      toolPolicy.readOnly = switchOf(option, value)
      return
    case 'no-destructive':
      toolPolicy.noDestructive = switchOf(option, value)
      return
    case 'tools':
      toolPolicy.groups =
        value === 'all' ? toolGroups : (listOf(option, value, toolGroups, 'groups') as ToolGroup[])
      return
    case 'exclude-tools':
      toolPolicy.excludedTools = listOf(option, value, toolNames, 'tools')
      return
    default:
      toolPolicy.scope[option] = idOf(option, value)
  }
}

function switchOf(option: string, value: string): boolean {
  const text = value.toLowerCase()
  if (text === '' || text === '1' || text === 'true') return true
  if (text === '0' || text === 'false') return false
  throw wrong(
    `${option} is not understood`,
    `It is on with 1 or true and off with 0 or false, not ${shown(value)}.`,
  )
}

function listOf(option: string, value: string, known: readonly string[], what: string): string[] {
  const names = value.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length > 0) {
    throw wrong(
      `${option} names no such ${what}: ${unknown.map(shown).join(', ')}`,
      `There are: ${known.join(', ')}.`,
    )
  }
  return names
}

function idOf(option: 'account' | 'app' | 'env', value: string): string {
  const prefix = { account: 'acc_', app: 'app_', env: '' }[option]
  if (/^[\w-]{1,128}$/.test(value) && value.startsWith(prefix)) return value
  const wanted = option === 'env' ? 'an appEnvId or an envName' : `an id that begins with ${prefix}`
  throw wrong(`${option} is not understood`, `It takes ${wanted}, not ${shown(value)}.`)
}

function shown(value: string): string {
  return JSON.stringify(value.slice(0, 100))
}

function wrong(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}

/**
 * The flags of a command that state choices, and the remaining arguments. `prefix` stands before every name (`mcp-`). Throws
 * `invalid` for a flag without its value.
 */
export function splitFlags(
  argv: readonly string[],
  prefix = '',
): { given: [ToolPolicyOption, string][]; rest: string[] } {
  const given: [ToolPolicyOption, string][] = []
  const rest: string[] = []
  for (let index = 0; index < argv.length; index += 1) {
    const [flag = '', inline] = splitOnce(argv[index]!)
    const name = flag.startsWith(`--${prefix}`) ? flag.slice(2 + prefix.length) : ''
    if (!isToolPolicyOption(name)) {
      rest.push(argv[index]!)
      continue
    }
    if (inline !== undefined) given.push([name, inline])
    else if (toolPolicyOptions[name] === 'switch') given.push([name, ''])
    else {
      index += 1
      const value = argv[index]
      if (value === undefined || value.startsWith('--'))
        throw wrong(`${flag} needs a value`, `Such as ${flag} x.`)
      given.push([name, value])
    }
  }
  return { given, rest }
}

function splitOnce(flag: string): [string, string | undefined] {
  const at = flag.indexOf('=')
  return at === -1 ? [flag, undefined] : [flag.slice(0, at), flag.slice(at + 1)]
}
