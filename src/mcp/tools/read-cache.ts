import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import { listAccounts } from '../../contract/accounts.ts'
import { type AppEnv, getAppEnv } from '../../contract/app-envs.ts'
import { getApp } from '../../contract/apps.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import type { ToolInput } from './tool-input.ts'

export type Account = OutputOf<typeof listAccounts>['accounts'][number]

const keptMs = 3_000
const mostEntries = 64

/** Reads of early checks, kept for a few seconds so that several calls in a row share them. */
export interface ReadCache {
  /** The environment that an input names. Throws the platform's error: 403, 404. */
  environment(input: ToolInput, signal: AbortSignal): Promise<AppEnv>
  /** An app. Throws the platform's error. */
  app(appId: string, signal: AbortSignal): Promise<OutputOf<typeof getApp>>
  /** The account, or null where the token may not list accounts. */
  account(accountId: string, signal: AbortSignal): Promise<Account | null>
  /** Removes all entries. */
  clear(): void
  /** Starts a new call. */
  mark(): void
  /** Whether a read of an earlier call was used since `mark`. */
  readonly usedOld: boolean
}

interface Entry {
  at: number
  value: Promise<unknown>
}

export function createReadCache(client: Client, clock: Clock): ReadCache {
  const entries = new Map<string, Entry>()
  let usedOld = false

  async function read<T>(key: string, fetch: () => Promise<T>): Promise<T> {
    const kept = entries.get(key)
    if (kept !== undefined && clock.monotonicMs() - kept.at < keptMs) {
      usedOld = true
      return kept.value as Promise<T>
    }
    const value = fetch()
    if (entries.size >= mostEntries) entries.clear()
    entries.set(key, { at: clock.monotonicMs(), value })
    // Errors are never kept: the cause may be fixed before the next call.
    value.catch(() => entries.delete(key))
    return value
  }

  return {
    environment(input, signal) {
      const ref = environmentRefOf(input)
      return read(JSON.stringify(ref), () => client.call(getAppEnv, ref, { signal }))
    },
    app: (appId, signal) => read(`app ${appId}`, () => client.call(getApp, { appId }, { signal })),
    async account(accountId, signal) {
      try {
        const { accounts } = await read('accounts', () => client.call(listAccounts, {}, { signal }))
        return accounts.find((account) => account.accountId === accountId) ?? null
      } catch (error) {
        // Environment tokens may not list accounts; for them only the platform checks the limits.
        if (error instanceof AppError && error.kind === 'forbidden') return null
        throw error
      }
    },
    clear: () => entries.clear(),
    mark() {
      usedOld = false
    },
    get usedOld() {
      return usedOld
    },
  }
}

/** The cliEnvName of the environment of a response or an input; its id if the environment no longer exists. */
export async function environmentNameOf(
  ctx: { reads: ReadCache; signal: AbortSignal },
  answer: Record<string, unknown>,
  input: ToolInput,
): Promise<string> {
  const { appEnvId } = (answer.appEnv ?? answer) as { appEnvId?: unknown }
  try {
    return (await ctx.reads.environment({ ...input, appEnvId }, ctx.signal)).cliEnvName
  } catch (error) {
    if (error instanceof AppError) return String(appEnvId)
    throw error
  }
}

/** `appEnvId` or `envName` of an input; `appEnvId` wins (docs/interface.md#naming-an-environment). */
export function environmentRefOf(input: ToolInput): { appEnvId: string } | { envName: string } {
  const { appEnvId, envName } = input
  if (typeof appEnvId === 'string' && !appEnvId.startsWith('env_')) {
    throw new AppError('invalid', 'appEnvId is not an id', {
      details: 'An id begins with env_. Send a name as envName; list-app-envs shows both.',
    })
  }
  if (appEnvId === undefined && typeof envName === 'string' && envName.startsWith('env_')) {
    throw new AppError('invalid', 'envName is an id', { details: 'Send an id as appEnvId.' })
  }
  if (typeof appEnvId === 'string') return { appEnvId }
  if (typeof envName === 'string') return { envName }
  throw new AppError('invalid', 'appEnvId or envName is required', {
    details: 'Name the environment: appEnvId, or envName (its cliEnvName). list-app-envs shows both.',
  })
}
