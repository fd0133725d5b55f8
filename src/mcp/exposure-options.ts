import { AppError } from '../errors.ts'
import { defaultExposure, type Exposure, type ScopePin } from './exposure.ts'
import { type ToolGroup, toolGroups } from './tool-groups.ts'

/**
 * The names of the choices, the same as flags (`--read-only`), in the address of `/mcp` (`?read-only=1`) and as
 * headers (`Longshore-Read-Only: 1`).
 */
export const exposureOptions = {
  'read-only': 'switch',
  'no-destructive': 'switch',
  tools: 'list',
  'exclude-tools': 'list',
  account: 'id',
  app: 'id',
  env: 'id',
} as const

export type ExposureOption = keyof typeof exposureOptions

export function isExposureOption(name: string): name is ExposureOption {
  return Object.hasOwn(exposureOptions, name)
}

/** For `--help` of the commands that take them; `prefix` stands before every name. */
export function exposureUsage(prefix: string): string {
  const rows = [
    ['read-only', 'no tool that changes anything exists'],
    ['no-destructive', 'no tool that destroys anything exists'],
    ['tools <groups>', `only these groups: ${toolGroups.join(',')}`],
    ['exclude-tools <names>', 'not these tools'],
    ['account <id>, app <id>, env <id or name>', ''],
    ['', 'hold every call to this account, app or environment'],
  ]
  return rows
    .map(
      ([name, what]) =>
        `  ${name === '' ? '' : `--${prefix}${name!.replaceAll(', ', `, --${prefix}`)}`}`.padEnd(27) +
        ` ${what}`,
    )
    .map((line) => line.trimEnd())
    .join('\n')
}

/**
 * The choices that `given` states, each at most once. Throws `invalid` on a value that is not understood: a
 * mistyped safety option must not be passed over. `toolNames` are the tools there are.
 */
export function readExposure(
  given: readonly (readonly [option: ExposureOption, value: string])[],
  toolNames: readonly string[],
): Exposure {
  const seen = new Set<ExposureOption>()
  const exposure = { ...defaultExposure, pin: { ...defaultExposure.pin } }
  for (const [option, value] of given) {
    if (seen.has(option))
      throw wrong(`${option} is given twice`, 'Give it once; lists are separated by commas.')
    seen.add(option)
    apply(exposure, option, value, toolNames)
  }
  return exposure
}

function apply(
  exposure: Exposure & { pin: ScopePin },
  option: ExposureOption,
  value: string,
  toolNames: readonly string[],
): void {
  switch (option) {
    case 'read-only':
      exposure.readOnly = switchOf(option, value)
      return
    case 'no-destructive':
      exposure.noDestructive = switchOf(option, value)
      return
    case 'tools':
      exposure.groups = listOf(option, value, toolGroups, 'groups') as ToolGroup[]
      return
    case 'exclude-tools':
      exposure.excludedTools = listOf(option, value, toolNames, 'tools')
      return
    default:
      exposure.pin[option] = idOf(option, value)
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
 * Flags of a command that state choices, and what is left. `prefix` stands before every name (`mcp-`). Throws
 * `invalid` for a flag without its value.
 */
export function splitFlags(
  argv: readonly string[],
  prefix = '',
): { given: [ExposureOption, string][]; rest: string[] } {
  const given: [ExposureOption, string][] = []
  const rest: string[] = []
  for (let index = 0; index < argv.length; index += 1) {
    const [flag = '', inline] = splitOnce(argv[index]!)
    const name = flag.startsWith(`--${prefix}`) ? flag.slice(2 + prefix.length) : ''
    if (!isExposureOption(name)) {
      rest.push(argv[index]!)
      continue
    }
    if (inline !== undefined) given.push([name, inline])
    else if (exposureOptions[name] === 'switch') given.push([name, ''])
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
