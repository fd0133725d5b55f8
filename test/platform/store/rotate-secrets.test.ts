import { afterEach, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { undoChange } from '../../../src/contract/audit.ts'
import { createContactPoint, getContactPoint } from '../../../src/contract/contact-points.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { newId } from '../../../src/domain/ids.ts'
import { Secret } from '../../../src/log.ts'
import type { Db, Tx } from '../../../src/store/db.ts'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import { dropUnusedKeys, resealEverything, withdrawKey } from '../../../src/store/secrets/rotate.ts'
import {
  addDataKey,
  openSecretBox,
  parseMasterKey,
  type RefreshingSecretBox,
  rewrapDataKeys,
} from '../../../src/store/secrets/secret-box.ts'
import { verifyAudit } from '../../../src/store/verify-audit.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const master = parseMasterKey(new Secret('11'.repeat(32)))
const looksSealed = `v1.key_${'a'.repeat(20)}.abc`

let platform: TestPlatform
afterEach(() => platform.close())

/** A deployed environment with a secret in force, one that is pending, and a contact point. */
async function sealed() {
  platform = await TestPlatform.start()
  const { client } = platform.admin
  const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
  const set = async (name: string, value: string, isSecret = true) =>
    platform.admin.client.call(updateAppEnvVariables, { appEnvId, set: [{ name, value, isSecret }] })
  await set('TOKEN', 'first')
  await set('PLAIN', looksSealed, false)
  await client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ currentDeployment }) => currentDeployment?.status === 'DEPLOYED',
    'a deployment',
  )
  const { contactPoint } = await client.call(createContactPoint, {
    accountId: platform.accountId,
    name: 'hook',
    type: 'webhook',
    config: { url: 'https://hooks.example.com/x', username: 'me', password: 'pass-word' },
  })
  return { appEnvId, contactPointId: contactPoint.contactPointId, set }
}

async function newKey(): Promise<{ box: RefreshingSecretBox; before: string; keyId: string }> {
  const box = await openSecretBox(platform.db, master, platform.now)
  const before = await box.refresh()
  const [keyId] = await platform.db.write((tx) => addDataKey(tx, master, platform.now))
  await box.refresh()
  await (platform.secrets as RefreshingSecretBox).refresh()
  return { box, before, keyId }
}

const values = async (appEnvId: string) =>
  Object.fromEntries(
    (await platform.admin.client.call(getAppEnv, { appEnvId, decrypt: true })).envVars.map(
      ({ name, value }) => [name, value],
    ),
  )
const pending = async (appEnvId: string) =>
  (await platform.admin.client.call(getAppEnv, { appEnvId })).pendingChanges.hasDeployChanges

/** The sealed value of TOKEN as the environment holds it. */
async function tokenOf(appEnvId: string): Promise<string> {
  const found = await platform.db.read((tx) => findEnvironment(tx, { appEnvId }))
  return found!.saved.envVars.find(({ name }) => name === 'TOKEN')!.value
}

/** Audit entries of an environment that hold a sealed value, a kilobyte each. */
async function addHistory(appEnvId: string, value: string, entries: number): Promise<void> {
  const after = { appEnvId, saved: { envVars: [{ name: 'TOKEN', value }] }, filling: 'x'.repeat(1_000) }
  const origin = { at: platform.now, account_id: platform.accountId, principal: 'usr_x', surface: 'rest' }
  const call = { operation: 'update-app-env-variables', object_type: 'app-env', object_id: appEnvId }
  const none = { token_id: null, session_id: null, trace_id: null, agent: null, undid: null }
  await platform.db.write(async (tx) => {
    for (let entry = 0; entry < entries; entry += 1) {
      const content = { entry_id: newId('aud'), before: 'null', after: JSON.stringify(after) }
      const hashes = { outcome: 'done', previous_hash: '', hash: '' }
      await tx
        .insertInto('audit_log')
        .values({ ...origin, ...call, ...none, ...content, ...hashes })
        .execute()
    }
  })
}

/** Counts the updates of each transaction; the machine dies after `most` transactions. */
function counting(store: Db, most = Number.POSITIVE_INFINITY): { db: Db; updates: number[] } {
  const updates: number[] = []
  const counted = (tx: Tx): Tx =>
    new Proxy(tx, {
      get(target, property) {
        if (property === 'updateTable') updates[updates.length - 1]! += 1
        const found = Reflect.get(target, property)
        return typeof found === 'function' ? found.bind(target) : found
      },
    })
  const write: Db['write'] = async (work) => {
    if (updates.length === most) throw new Error('the machine died')
    const index = updates.push(0) - 1
    return store.write((tx) => {
      // It may run again after a conflict.
      updates[index] = 0
      return work(counted(tx))
    })
  }
  const read: Db['read'] = (work) => store.read(work)
  return {
    db: { read, write, rehearse: (work) => store.rehearse(work), close: () => store.close() },
    updates,
  }
}

describe('a rotation of data keys', () => {
  it('leaves every value, nothing pending, and an audit trail that is whole', async () => {
    const { appEnvId, contactPointId, set } = await sealed()
    const { box, before, keyId } = await newKey()
    await resealEverything(platform.db, box, keyId)
    expect(await dropUnusedKeys(platform.db, keyId)).toEqual({ dropped: 1, kept: 0 })
    expect(await pending(appEnvId)).toBe(false)
    const fresh = await openSecretBox(platform.db, master, platform.now)
    expect(() => fresh.open(`v1.${before}.abc`, 'x')).toThrow()
    await platform.restart()
    expect(await values(appEnvId)).toEqual({ TOKEN: 'first', PLAIN: looksSealed })
    const shown = await platform.admin.client.call(getContactPoint, { contactPointId, showSecrets: true })
    expect(shown.config).toMatchObject({ url: 'https://hooks.example.com/x', password: 'pass-word' })
    const { chains } = await platform.db.read((tx) => verifyAudit(tx, []))
    expect(chains.length).toBeGreaterThan(0)
    expect(chains.map(({ broken }) => broken).filter((one) => one !== null)).toEqual([])
    // What was sealed before can still be undone to, and compared.
    await set('TOKEN', 'first')
    expect(await pending(appEnvId)).toBe(false)
    await set('TOKEN', 'second')
    expect(await pending(appEnvId)).toBe(true)
  })

  it('can be cut off and begun again, and keeps a key that is still used', async () => {
    const { appEnvId } = await sealed()
    const first = await newKey()
    // The first one only got as far as half of it.
    const cut = new Error('cut off')
    await expect(
      resealEverything(platform.db, first.box, first.keyId, () => {
        throw cut
      }),
    ).rejects.toBe(cut)
    expect((await dropUnusedKeys(platform.db, first.keyId)).kept).toBe(1)
    expect(await values(appEnvId)).toMatchObject({ TOKEN: 'first' })
    const second = await newKey()
    await resealEverything(platform.db, second.box, second.keyId)
    expect(await dropUnusedKeys(platform.db, second.keyId)).toEqual({ dropped: 2, kept: 0 })
    expect(await values(appEnvId)).toMatchObject({ TOKEN: 'first' })
    expect(await pending(appEnvId)).toBe(false)
  })

  it('seals a long history in short transactions, and makes equal again what a crash left apart', async () => {
    const { appEnvId } = await sealed()
    await addHistory(appEnvId, await tokenOf(appEnvId), 1_200)
    const first = await newKey()
    const cut = counting(platform.db, 2)
    await expect(resealEverything(cut.db, first.box, first.keyId)).rejects.toThrow('the machine died')
    const second = await newKey()
    const whole = counting(platform.db)
    await resealEverything(whole.db, second.box, second.keyId)
    expect(Math.max(...whole.updates)).toBeLessThan(600)
    expect(await dropUnusedKeys(platform.db, second.keyId)).toEqual({ dropped: 2, kept: 0 })
    const entries = await platform.db.read((tx) => tx.selectFrom('audit_log').select('after').execute())
    const tokens = entries.flatMap(({ after }) => /"TOKEN","value":"(v1\.[^"]+)"/.exec(after)?.[1] ?? [])
    expect(tokens.length).toBe(1_200)
    expect(new Set(tokens)).toEqual(new Set([await tokenOf(appEnvId)]))
    expect(await pending(appEnvId)).toBe(false)
  })

  it('ends the earlier one of two, whose key is no longer used, and keeps the key of the later one', async () => {
    const { appEnvId, set } = await sealed()
    const first = await newKey()
    const second = await newKey()
    await expect(resealEverything(platform.db, first.box, first.keyId)).rejects.toMatchObject({
      kind: 'conflict',
    })
    await expect(dropUnusedKeys(platform.db, first.keyId)).rejects.toMatchObject({ kind: 'conflict' })
    await set('TOKEN', 'second')
    await resealEverything(platform.db, second.box, second.keyId)
    expect(await dropUnusedKeys(platform.db, second.keyId)).toEqual({ dropped: 2, kept: 0 })
    await platform.restart()
    expect(await values(appEnvId)).toMatchObject({ TOKEN: 'second' })
  })

  it('withdraws a key that was not loaded everywhere, unless a value is sealed with it', async () => {
    const { appEnvId, set } = await sealed()
    const keys = () => platform.db.read((tx) => tx.selectFrom('data_keys').select('key_id').execute())
    const unused = await newKey()
    await withdrawKey(platform.db, unused.keyId, 0)
    expect(await keys()).toEqual([{ key_id: unused.before }])
    await (platform.secrets as RefreshingSecretBox).refresh()
    const used = await newKey()
    await set('TOKEN', 'second')
    await withdrawKey(platform.db, used.keyId, 0)
    expect(await keys()).toHaveLength(2)
    expect(await values(appEnvId)).toMatchObject({ TOKEN: 'second' })
  })

  it('brings a withdrawn key back that seals a value at the last moment', async () => {
    const { appEnvId } = await sealed()
    const { keyId } = await newKey()
    const { db } = counting(platform.db)
    const write = db.write
    db.write = async (work) => {
      const done = await write(work)
      db.write = write
      await addHistory(appEnvId, `v1.${keyId}.abc`, 1)
      return done
    }
    await withdrawKey(db, keyId, 0)
    const keys = await platform.db.read((tx) => tx.selectFrom('data_keys').select('key_id').execute())
    expect(keys.map(({ key_id }) => key_id)).toContain(keyId)
  })

  it('keeps a key whose value came while its uses were searched', async () => {
    const { appEnvId } = await sealed()
    const { box, before, keyId } = await newKey()
    await resealEverything(platform.db, box, keyId)
    const { db } = counting(platform.db)
    const read = db.read
    db.read = async (work) => {
      const found = await read(work)
      await addHistory(appEnvId, `v1.${before}.abc`, 1)
      return found
    }
    expect(await dropUnusedKeys(db, keyId)).toEqual({ dropped: 0, kept: 1 })
  })

  it('undoes a change that was made before it', async () => {
    const { appEnvId, set } = await sealed()
    await set('TOKEN', 'second')
    const { token } = platform.admin
    const { json } = await platform.request('GET', '/audit', {
      token,
      input: { accountId: platform.accountId, objectId: appEnvId, limit: 1 },
    })
    const { box, keyId } = await newKey()
    await resealEverything(platform.db, box, keyId)
    await dropUnusedKeys(platform.db, keyId)
    await platform.admin.client.call(undoChange, { entryId: json.entries[0].entryId })
    expect(await values(appEnvId)).toMatchObject({ TOKEN: 'first' })
    expect(await pending(appEnvId)).toBe(false)
  })

  it('wraps the data keys with another master key, all or none', async () => {
    const { appEnvId } = await sealed()
    const other = parseMasterKey(new Secret('22'.repeat(32)))
    await expect(platform.db.write((tx) => rewrapDataKeys(tx, other, master))).rejects.toMatchObject({
      message: 'The master key does not open this data directory',
    })
    await platform.db.write((tx) => rewrapDataKeys(tx, master, other))
    await expect(openSecretBox(platform.db, master, platform.now)).rejects.toThrow('master key')
    const box = await openSecretBox(platform.db, other, platform.now)
    const clear = 'x'
    expect(box.open(platform.secrets.seal(clear, appEnvId), appEnvId)).toBe(clear)
  })
})
