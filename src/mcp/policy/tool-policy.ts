import type { ScopeLevel } from '../../contract/resource-facts.ts'
import { staysWithin } from '../../contract/resources.ts'
import type { Scope } from '../../contract/scopes.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'
import { AppError } from '../../errors.ts'

/** The account, app or environment a server is limited to; null: not limited. `env` is an appEnvId or an envName. */
export interface ServerScope {
  account: string | null
  app: string | null
  env: string | null
}

/** The options a person set at server start or in the address of `/mcp`; they override everything else. */
export interface ToolPolicy {
  /** Inputs that show secrets exist. */
  allowSecrets: boolean
  /** Tools that change anything do not exist, and are refused by name. */
  readOnly: boolean
  /** Tools that destroy do not exist, and are refused by name. */
  noDestructive: boolean
  /** Only tools of these groups exist; null = of every group. */
  groups: readonly ToolGroup[] | null
  excludedTools: readonly string[]
  scope: ServerScope
  /**
   * Environments that an agent is limited to; null = no list. The platform checks them, and tools that act on wider
   * objects are not offered.
   */
  environments: readonly string[] | null
  /** OAuth scopes of an agent; null for other callers. Tools beyond them stay listed, so that it can request more. */
  scopes: readonly Scope[] | null
}

export const noScope: ServerScope = Object.freeze({ account: null, app: null, env: null })

/** Everything but secrets. */
export const defaultToolPolicy: ToolPolicy = Object.freeze({
  allowSecrets: false,
  readOnly: false,
  noDestructive: false,
  groups: null,
  excludedTools: [],
  scope: noScope,
  environments: null,
  scopes: null,
})

/** The facts of a tool that decide whether it is listed and can be called. */
export interface ToolFacts {
  name: string
  /** Null for a tool without a group: it exists only if all groups are enabled. */
  group: ToolGroup | null
  readOnly: boolean
  destructive: boolean
  /** The type of its target: `on` of the operation's policy. */
  on: string
}

/** The narrowest level in the scope; null: no limit. */
export function scopeLevelOf(scope: ServerScope): ScopeLevel | null {
  if (scope.env !== null) return 'env'
  if (scope.app !== null) return 'app'
  return scope.account === null ? null : 'account'
}

/** Inputs that the scope fills in, which the tools then lack: an environment decides its app and account too. */
export function scopedInputs(scope: ServerScope): readonly string[] {
  const level = scopeLevelOf(scope)
  if (level === null) return []
  if (level === 'account') return ['accountId']
  return level === 'app' ? ['accountId', 'appId'] : ['accountId', 'appId', 'appEnvId', 'envName']
}

/** Why a tool does not exist under these choices, as the error of a call by name; null when it does. */
export function refusalOf(tool: ToolFacts, toolPolicy: ToolPolicy): AppError | null {
  const { name } = tool
  if (toolPolicy.readOnly && !tool.readOnly) {
    return switchedOff(
      `${name} is switched off: this server is read-only`,
      'A person chose --read-only, or read-only when this agent signed in. They can start or connect it without, or make the change themselves.',
    )
  }
  if (toolPolicy.noDestructive && tool.destructive) {
    return switchedOff(
      `${name} is switched off: this server destroys nothing`,
      'It was started with --no-destructive. A person can do it themselves.',
    )
  }
  if (toolPolicy.excludedTools.includes(name)) {
    return switchedOff(`${name} is switched off`, 'It was excluded when this server was started.')
  }
  if (toolPolicy.groups !== null && (tool.group === null || !toolPolicy.groups.includes(tool.group))) {
    return switchedOff(
      `${name} is switched off: its group is not offered`,
      `This server offers the groups ${toolPolicy.groups.join(', ')}.`,
    )
  }
  const level = toolPolicy.environments === null ? scopeLevelOf(toolPolicy.scope) : 'env'
  // Reads of access are about the account, so they need the same level as writes.
  const as = tool.readOnly && tool.group !== 'access' ? 'reads' : 'writes'
  if (level === null || staysWithin(tool.on, as, level)) return null
  return switchedOff(
    `${name} is switched off: it acts outside the ${levelWords[level]} of this server`,
    'A person limited this server to it when starting it.',
  )
}

export const levelWords = { account: 'account', app: 'app', env: 'environment' } as const

function switchedOff(message: string, details: string): AppError {
  return new AppError('forbidden', message, { details })
}

/**
 * Combines two policies; the result is never weaker than either. Throws `invalid` if they contradict
 * each other: a server limited to one account is not limited to another.
 */
export function narrowed(base: ToolPolicy, requested: ToolPolicy): ToolPolicy {
  return {
    allowSecrets: base.allowSecrets && requested.allowSecrets,
    readOnly: base.readOnly || requested.readOnly,
    noDestructive: base.noDestructive || requested.noDestructive,
    groups: inBoth(base.groups, requested.groups),
    environments: inBoth(base.environments, requested.environments),
    scopes: inBoth(base.scopes, requested.scopes),
    excludedTools: [...new Set([...base.excludedTools, ...requested.excludedTools])],
    scope: {
      account: sameId('account', base.scope.account, requested.scope.account),
      app: sameId('app', base.scope.app, requested.scope.app),
      env: sameId('env', base.scope.env, requested.scope.env),
    },
  }
}

/** Null limits nothing. */
function inBoth<T>(base: readonly T[] | null, requested: readonly T[] | null): readonly T[] | null {
  if (base === null || requested === null) return requested ?? base
  return base.filter((one) => requested.includes(one))
}

function sameId(level: ScopeLevel, base: string | null, requested: string | null): string | null {
  if (base !== null && requested !== null && base !== requested) {
    throw new AppError('invalid', `This server is limited to another ${levelWords[level]}`, {
      details: `It was started for ${base}. Leave ${level} out of the address, or name that one.`,
    })
  }
  return base ?? requested
}
