import { AppError } from '../errors.ts'
import type { ToolGroup } from './tool-groups.ts'

/** The account, app or environment a server is held to; null = not held. `env` is an appEnvId or an envName. */
export interface ScopePin {
  account: string | null
  app: string | null
  env: string | null
}

/** What a person chose when starting the server, or in the address of `/mcp`; it wins over everything. */
export interface Exposure {
  /** Inputs that show secrets exist. */
  allowSecrets: boolean
  /** Tools that change anything do not exist, and are refused by name. */
  readOnly: boolean
  /** Tools that destroy do not exist, and are refused by name. */
  noDestructive: boolean
  /** Only tools of these groups exist; null = of every group. */
  groups: readonly ToolGroup[] | null
  excludedTools: readonly string[]
  pin: ScopePin
}

export const noPin: ScopePin = Object.freeze({ account: null, app: null, env: null })

/** Everything but secrets. */
export const defaultExposure: Exposure = Object.freeze({
  allowSecrets: false,
  readOnly: false,
  noDestructive: false,
  groups: null,
  excludedTools: [],
  pin: noPin,
})

/** What an exposure looks at in a tool; the same for the list and for the call. */
export interface ToolFacts {
  name: string
  /** Null for a tool that states none: it exists only where every group does. */
  group: ToolGroup | null
  readOnly: boolean
  destructive: boolean
  /** What it acts on: `on` of the policy of its row. */
  on: string
}

export type PinLevel = 'account' | 'app' | 'env'

/** The narrowest thing that is pinned. */
export function pinLevelOf(pin: ScopePin): PinLevel | null {
  if (pin.env !== null) return 'env'
  if (pin.app !== null) return 'app'
  return pin.account === null ? null : 'account'
}

/** Inputs that a pin fills in, so that they are no inputs any more: an environment pins its app and account too. */
export function pinnedInputs(pin: ScopePin): readonly string[] {
  const level = pinLevelOf(pin)
  if (level === null) return []
  if (level === 'account') return ['accountId']
  return level === 'app' ? ['accountId', 'appId'] : ['accountId', 'appId', 'appEnvId', 'envName']
}

/** Why a tool does not exist under these choices, as the error of a call by name; null when it does. */
export function refusalOf(tool: ToolFacts, exposure: Exposure): AppError | null {
  const { name } = tool
  if (exposure.readOnly && !tool.readOnly) {
    return switchedOff(
      `${name} is switched off: this server is read-only`,
      'It was started with --read-only. A person can start it without, or make the change themselves.',
    )
  }
  if (exposure.noDestructive && tool.destructive) {
    return switchedOff(
      `${name} is switched off: this server destroys nothing`,
      'It was started with --no-destructive. A person can do it themselves.',
    )
  }
  if (exposure.excludedTools.includes(name)) {
    return switchedOff(`${name} is switched off`, 'It was excluded when this server was started.')
  }
  if (exposure.groups !== null && (tool.group === null || !exposure.groups.includes(tool.group))) {
    return switchedOff(
      `${name} is switched off: its group is not offered`,
      `This server offers the groups ${exposure.groups.join(', ')}.`,
    )
  }
  const level = pinLevelOf(exposure.pin)
  if (level === null || staysWithin(tool, level)) return null
  return switchedOff(
    `${name} is switched off: it reaches beyond the pinned ${pinWords[level]}`,
    'A person held this server to it when starting it.',
  )
}

export const pinWords = { account: 'account', app: 'app', env: 'environment' } as const

function switchedOff(message: string, details: string): AppError {
  return new AppError('forbidden', message, { details })
}

/**
 * Whether a tool can be held to what is pinned. Reads of a level above stay where they are needed to work inside
 * and can be cut down to it (pinned-scope.ts); writes above it do not. What is not known here is not offered.
 */
function staysWithin({ on, group, readOnly }: ToolFacts, level: PinLevel): boolean {
  switch (on) {
    case 'environment':
    case 'alert':
    case 'job-run':
      return true
    case 'app':
      return level !== 'env' || readOnly
    case 'new-environment':
      return level !== 'env'
    case 'account-or-app':
    case 'installation':
      return readOnly
    case 'account':
    case 'contact-point':
      return level === 'account' || (readOnly && group !== 'access')
    case 'member':
      return level === 'account'
    default:
      return false
  }
}

/**
 * Both choices at once: never weaker than either. Throws `invalid` when they contradict each other, as a pin to
 * another account does.
 */
export function narrowed(base: Exposure, asked: Exposure): Exposure {
  return {
    allowSecrets: base.allowSecrets && asked.allowSecrets,
    readOnly: base.readOnly || asked.readOnly,
    noDestructive: base.noDestructive || asked.noDestructive,
    groups: commonGroups(base.groups, asked.groups),
    excludedTools: [...new Set([...base.excludedTools, ...asked.excludedTools])],
    pin: {
      account: samePin('account', base.pin.account, asked.pin.account),
      app: samePin('app', base.pin.app, asked.pin.app),
      env: samePin('env', base.pin.env, asked.pin.env),
    },
  }
}

function commonGroups(base: Exposure['groups'], asked: Exposure['groups']): Exposure['groups'] {
  if (base === null || asked === null) return asked ?? base
  return base.filter((group) => asked.includes(group))
}

function samePin(level: PinLevel, base: string | null, asked: string | null): string | null {
  if (base !== null && asked !== null && base !== asked) {
    throw new AppError('invalid', `This server is held to another ${pinWords[level]}`, {
      details: `It was started for ${base}. Leave ${level} out of the address, or name that one.`,
    })
  }
  return base ?? asked
}
