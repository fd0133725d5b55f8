/**
 * Reads over REST with 100,000 environments stored (goal: get-app-env p50 at most 2 ms; the list of a member
 * restricted to 50 of them at most 5 ms), on a warm platform: the first hundreds of each read only let Node
 * compile it.
 *
 *   npm run bench -- reads [environments]
 */
import type { Environment } from '../src/domain/environments/environment.ts'
import { newId } from '../src/domain/ids.ts'
import { findAccount, updateAccount } from '../src/store/repositories/accounts.ts'
import { findEnvironment, insertEnvironment } from '../src/store/repositories/environments.ts'
import { TestPlatform } from '../testkit/platform/test-platform.ts'

const warmUp = 500
const total = Number(process.argv[2] ?? 100_000)
const platform = await TestPlatform.start({ reconciles: false })
try {
  const { appId, appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  const ids = await fill(appEnvId)
  const member = await platform.makeUser({ allowedAppEnvIds: pick(ids, 50) })
  await platform.db.write(async (tx) => {
    const account = await findAccount(tx, platform.accountId)
    if (!account) throw new Error('the account is gone')
    await updateAccount(tx, { ...account, settings: { ...account.settings, memberEnvAccessEnabled: true } })
  })
  const { admin, accountId } = platform
  const read = (id: string) =>
    platform.request('GET', '/app-env', { token: admin.token, input: { appEnvId: id } })
  const list = (input: Record<string, unknown>) =>
    platform.request('GET', '/app-envs', { token: member.token, input })
  await measure('get-app-env', 500, (index) => read(ids[(index * 7919) % ids.length] ?? ''))
  await measure('list-app-envs of an account, 50 of all visible', 100, () => list({ accountId }))
  await measure('list-app-envs of an app, 50 of all visible', 100, () => list({ appId }))
  await measure('list-apps, restricted', 100, () =>
    platform.request('GET', '/apps', { token: member.token, input: { accountId } }),
  )
} finally {
  await platform.close()
}

async function fill(appEnvId: string): Promise<string[]> {
  const model = await platform.db.read((tx) => findEnvironment(tx, { appEnvId }))
  if (!model) throw new Error('the first environment is gone')
  const ids: string[] = []
  await platform.db.write(async (tx) => {
    for (let index = 0; index < total; index++) {
      const id = newId('env')
      ids.push(id)
      const environment: Environment = {
        ...model,
        appEnvId: id,
        cliEnvName: `load-${index}`,
        slug: `load-${index}`,
      }
      await insertEnvironment(tx, environment, 1)
    }
  })
  return ids
}

function pick(ids: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, index) => ids[Math.floor((index * ids.length) / count)] ?? '')
}

async function measure(
  what: string,
  times: number,
  work: (index: number) => Promise<{ status: number }>,
): Promise<void> {
  const took: number[] = []
  for (let index = -warmUp; index < times; index++) {
    const startedMs = performance.now()
    const { status } = await work(Math.abs(index))
    if (index >= 0) took.push(performance.now() - startedMs)
    if (status !== 200) throw new Error(`${what} answered ${status}`)
  }
  took.sort((a, b) => a - b)
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(2)
  process.stdout.write(`${what}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms (${total} environments stored)\n`)
}
