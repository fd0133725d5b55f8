import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Impact } from '../../src/contract/impact.ts'
import { operations } from '../../src/contract/index.ts'
import { isRead, type Operation } from '../../src/contract/operation.ts'
import { sampleSource, tgz } from '../platform/deploy.ts'
import type { RawAnswer } from '../platform/raw-request.ts'
import { TestPlatform, type TestUser } from '../platform/test-platform.ts'
import { randomOf } from '../random.ts'
import { untilRead } from '../until.ts'
import { calls, type World } from './calls.ts'
import { contradictions, snapshotOf } from './observed.ts'
import { worldOf } from './world.ts'

export const writes: readonly Operation[] = operations.filter((row) => !isRead(row))

const beginning = [
  ...Array.from({ length: 6 }, () => ['create-app', 'create-app-env']).flat(),
  ...Array.from({ length: 4 }, () => 'deploy-app-env-image'),
]
const often = [
  'apply-app-env-changes',
  'propose-plan',
  'decide-approval',
  'deploy-app-env-image',
  'redeploy-app-env',
  'restart-app-env',
  'start-app-env',
  'stop-app-env',
  'update-app-env',
  'update-app-env-variables',
  'undo-change',
]

/** Makes calls in whatever state the ones before left, and compares each impact with what then happened. */
export class ImpactDriver {
  /** Successful calls by operation. */
  readonly done = new Map<string, number>()
  readonly wrong: string[] = []
  readonly refused: string[] = []
  #count = 0

  private constructor(
    readonly platform: TestPlatform,
    readonly other: TestUser,
    readonly guest: TestUser,
    private readonly elsewhere: string,
  ) {}

  static async start(): Promise<ImpactDriver> {
    const platform = await TestPlatform.start()
    const elsewhere = await platform.makeAccount('Elsewhere')
    const guest = await platform.makeUser({ accountId: elsewhere })
    return new ImpactDriver(platform, await platform.makeUser(), guest, elsewhere)
  }

  /** Calls in random order, those that make most states more often. What creates objects comes first. */
  async walk(states: number, seed: number): Promise<void> {
    const random = randomOf(seed)
    const ids = fc.sample(fc.constantFrom(...writes.map(({ id }) => id), ...often, ...often), {
      numRuns: states,
      seed,
    })
    for (const id of [...beginning, ...ids]) await this.step(id, random)
  }

  /** Makes one call if the state allows it. `choice` from 0 to below 1 chooses its objects and values. */
  async step(id: string, choice: () => number): Promise<void> {
    const { platform } = this
    this.#count += 1
    const made = calls[id]!(await this.#world(choice))
    if (made === null) return
    const { input, token } =
      'token' in made && 'input' in made
        ? (made as { input: Record<string, unknown>; token: string })
        : { input: made, token: platform.admin.token }
    const row = writes.find((one) => one.id === id)!
    const call = (headers = {}) => platform.request(row.method, row.path, { token, input, headers })
    const before = await snapshotOf(platform)
    const dry = await call({ 'dry-run': 'true' })
    const real = await call()
    if (id === 'request-deploy-storage-key' && real.status === 200) await upload(real.json.uploadUrl)
    await this.#settled()
    const after = await snapshotOf(platform)
    const wrong = this.#judged(dry, real)
    if (real.status !== 200) this.refused.push(`${id} ${JSON.stringify(input)} ${JSON.stringify(real.json)}`)
    if (real.status === 200 && dry.status === 200) {
      this.done.set(id, (this.done.get(id) ?? 0) + 1)
      const entry = await this.#entryAfter(before.lastSeq, id)
      const { impact } = dry.json as { impact: Impact }
      if (entry && !isSame(entry.impact, impact))
        wrong.push(`real ${JSON.stringify(entry.impact)}, dry ${JSON.stringify(impact)}`)
      wrong.push(...contradictions(entry?.impact ?? impact, before, after, id === 'probe-function'))
      if (entry) wrong.push(...(await this.#undoFaults(entry, input)))
    }
    this.wrong.push(...wrong.map((what) => `${id} ${JSON.stringify(input)}: ${what}`))
  }

  close(): Promise<void> {
    return this.platform.close()
  }

  #judged(dry: RawAnswer, real: RawAnswer): string[] {
    if (dry.status === real.status) return []
    return [`dry ${dry.status} ${JSON.stringify(dry.json)}, real ${real.status} ${JSON.stringify(real.json)}`]
  }

  async #entryAfter(seq: number, operation: string) {
    const row = await this.platform.db.read((tx) =>
      tx
        .selectFrom('audit_log')
        .selectAll()
        .where('seq', '>', seq)
        .where('operation', '=', operation)
        .where('outcome', '=', 'done')
        .where('impact', 'is not', null)
        .executeTakeFirst(),
    )
    return row
      ? { entryId: row.entry_id, accountId: row.account_id, impact: JSON.parse(row.impact!) as Impact }
      : null
  }

  /** The stated way back is accepted, and undo-change only where it is stated. */
  async #undoFaults(
    { entryId, accountId, impact }: { entryId: string; accountId: string | null; impact: Impact },
    { appEnvId = impact.environments[0] }: Record<string, unknown>,
  ): Promise<string[]> {
    const { admin } = this.platform
    const rehearse = (pathname: string, input: Record<string, unknown>) =>
      this.platform.request('POST', pathname, { token: admin.token, input, headers: { 'dry-run': 'true' } })
    const faults: string[] = []
    const undone = accountId === this.platform.accountId ? await rehearse('/audit/undo', { entryId }) : null
    if (undone && (undone.status === 200) !== (impact.undo === 'undo-change'))
      faults.push(
        `undo ${impact.undo}, but undo-change answers ${undone.status} ${JSON.stringify(undone.json)}`,
      )
    if (impact.undo === 'redeploy') {
      const { status, json } = await rehearse('/app-env/redeploy', { appEnvId })
      if (status !== 200) faults.push(`undo redeploy, but it answers ${status} ${JSON.stringify(json)}`)
    }
    return faults
  }

  async #settled(): Promise<void> {
    const { db, reconciler } = this.platform
    const working = () =>
      db.read(async (tx) => [
        ...(await tx
          .selectFrom('app_envs')
          .select('app_env_id')
          .where('status', 'in', ['PENDING', 'UPDATING'])
          .execute()),
        ...(await tx
          .selectFrom('backups')
          .select('backup_id')
          .where('status', 'in', ['PENDING', 'RUNNING'])
          .execute()),
        ...(await tx
          .selectFrom('restores')
          .select('restore_id')
          .where('status', 'in', ['PENDING', 'RUNNING'])
          .execute()),
      ])
    await reconciler?.settled()
    await untilRead(working, (rows) => rows.length === 0, 'the end of what is under way')
    await reconciler?.settled()
  }

  async #world(choice: () => number): Promise<World> {
    const { platform, other, guest } = this
    const spare = await platform.makeUser({ accountId: this.elsewhere })
    return worldOf({ platform, other, guest, spare }, this.#count, choice)
  }
}

async function upload(url: string): Promise<void> {
  const body = await tgz(sampleSource('node:22'))
  const answer = await fetch(url, { method: 'PUT', body: new Uint8Array(body) })
  if (!answer.ok) throw new Error(`the upload answers ${answer.status}: ${await answer.text()}`)
}

/** The id of an object that a dry run makes is not that of the real one. */
function isSame(real: Impact, dry: Impact): boolean {
  const isNew = real.actions.includes('create-object')
  const shown = (impact: Impact) => (isNew ? { ...impact, environments: impact.environments.length } : impact)
  return isDeepStrictEqual(shown(real), shown(dry))
}
