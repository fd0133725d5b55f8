import { afterEach, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { undoChange } from '../../../src/contract/audit.ts'
import { createContactPoint, getContactPoint } from '../../../src/contract/contact-points.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { Secret } from '../../../src/log.ts'
import { dropUnusedKeys, resealEverything } from '../../../src/store/secrets/rotate.ts'
import {
  addDataKey,
  openSecretBox,
  parseMasterKey,
  type RefreshingSecretBox,
  rewrapDataKeys,
} from '../../../src/store/secrets/secret-box.ts'
import { verifyAudit } from '../../../src/store/verify-audit.ts'
import { until } from '../../../testkit/platform/story.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

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
  await until(
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
