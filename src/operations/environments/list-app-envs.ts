import { listAppEnvs } from '../../contract/app-envs.ts'
import type { App } from '../../contract/apps.ts'
import type { Attention } from '../../contract/diagnosis.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { listEnvironmentIds, listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { readAttention } from '../diagnosis/read-attention.ts'

/** M1: only environments that the caller can access. */
export default handler(listAppEnvs, async (context, { status: wanted, healthy, limit }, target) => {
  const { tx } = context
  const { account, membership, app } = target
  const only = visibleEnvironments(account, membership)
  const of = app ? { appId: app.appId } : { accountId: account.accountId }
  // With another filter, the limit counts only the environments that pass it.
  const firstRead = wanted === undefined && healthy === undefined ? limit : undefined
  const listed = (await listEnvironments(tx, of, only, firstRead)).filter(
    (env) => env.accountId === account.accountId && (wanted === undefined || env.status === wanted),
  )
  const readRest = healthy === undefined ? null : await readAttention(context, account.accountId, listed)
  const apps = new Map<string, App>(app ? [[app.appId, app]] : [])
  const appEnvs: OutputOf<typeof listAppEnvs>['appEnvs'] = []
  for (const environment of listed) {
    const known = apps.get(environment.appId) ?? (await findApp(tx, environment.appId))?.app
    if (!known) continue
    apps.set(known.appId, known)
    const { appEnvId, appId, name, slug, region, status, cliEnvName, labels, currentVersion } = environment
    const { dockerPreset, isFunction } = known
    appEnvs.push({
      appEnvId,
      appId,
      name,
      slug,
      region,
      status,
      cliEnvName,
      labels,
      protected: environment.protected,
      dockerPreset,
      isFunction,
      currentVersion,
    })
  }
  const all = firstRead === undefined ? appEnvs.length : await countVisible(tx, of, only)
  if (!readRest) return { answer: firstOf(appEnvs, limit, all) }
  return {
    answer: { appEnvs },
    afterRead: async (_answer, after) => {
      const { attention } = await readRest(after)
      const found = appEnvs.filter(({ appEnvId }) => isWell(attention.get(appEnvId)) === healthy)
      return firstOf(found, limit, found.length)
    },
  }
})

type Answer = OutputOf<typeof listAppEnvs>

function firstOf(found: Answer['appEnvs'], limit: number | undefined, total: number): Answer {
  if (limit === undefined) return { appEnvs: found }
  return { appEnvs: found.slice(0, limit), pagination: { limit, offset: 0, total, hasMore: total > limit } }
}

async function countVisible(
  tx: Tx,
  of: Parameters<typeof listEnvironmentIds>[1],
  only: readonly string[] | null,
): Promise<number> {
  const ids = await listEnvironmentIds(tx, of)
  const allowed = only && new Set(only)
  return allowed ? ids.filter(({ appEnvId }) => allowed.has(appEnvId)).length : ids.length
}

/** As `healthy` of a diagnosis: findings of severity `info` need no attention. */
function isWell(found: Attention | undefined): boolean {
  return found === undefined || found.severity === 'info'
}
