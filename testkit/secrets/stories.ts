import { expect } from 'vitest'
import type { Json } from '../api/story-call.ts'
import { until } from '../platform/story.ts'
import {
  confirmed,
  decrypted,
  given,
  made,
  nameOf,
  passwordOf,
  reads,
  type StoryBed,
  secretVariable,
  served,
  withDatabase,
} from './story-steps.ts'
import { ofId } from './sweep.ts'

/** Stories of operators in which secrets are entered, made, referred to, changed, used and printed. */
export const secretStories: Record<string, (bed: StoryBed) => Promise<unknown>> = {
  async 'sets a secret variable and deploys it'(bed) {
    const appEnvId = await made(bed)
    const variable = secretVariable(bed, 'API_KEY')
    await bed.send('update-app-env-variables', { appEnvId, set: [variable] })
    await served(bed, appEnvId)
    expect(given(bed, appEnvId).API_KEY).toBe(variable.value)
    await reads(bed, appEnvId)
  },

  async 'changes all variables in one call'(bed) {
    const appEnvId = await made(bed)
    await bed.send('update-app-env', {
      appEnvId,
      envVars: [secretVariable(bed, 'A'), secretVariable(bed, 'B')],
    })
    await served(bed, appEnvId)
    await bed.send('update-app-env', {
      appEnvId,
      envVars: [secretVariable(bed, 'A')],
      applyImmediately: true,
    })
    await reads(bed, appEnvId)
  },

  async 'makes a value that nobody sees'(bed) {
    const appEnvId = await made(bed)
    await bed.send('update-app-env-variables', {
      appEnvId,
      set: [{ name: 'SIGNING_KEY', generate: { length: 40 } }],
    })
    const [variable] = (await decrypted(bed, appEnvId)).envVars
    bed.sweep.secrets.know(`generated value, ${bed.surface}`, variable.value)
    await served(bed, appEnvId)
    expect(given(bed, appEnvId).SIGNING_KEY).toBe(variable.value)
    await reads(bed, appEnvId)
  },

  async 'has a person enter it on the one-time page'(bed) {
    const appEnvId = await made(bed)
    const { url } = await bed.send('request-secret', { appEnvId, variable: 'STRIPE_KEY' })
    const value = bed.sweep.secrets.plant(`entered value, ${bed.surface}`, (core) => core)
    const page = await fetch(url, { method: 'POST', body: new URLSearchParams({ value }) })
    expect(page.status).toBe(200)
    bed.sweep.outputs.push({ where: 'page of the person', text: await page.text() })
    await served(bed, appEnvId)
    expect(given(bed, appEnvId).STRIPE_KEY).toBe(value)
    await reads(bed, appEnvId)
  },

  async 'connects an app to a database by reference'(bed) {
    const { appEnvId, password } = await withDatabase(bed, ['url', 'password', 'user', 'host'])
    expect(given(bed, appEnvId).DB_PASSWORD).toBe(password)
    await reads(bed, appEnvId)
  },

  async 'takes a variable of another environment'(bed) {
    const source = await made(bed)
    const variable = secretVariable(bed, 'SHARED')
    await bed.send('update-app-env-variables', { appEnvId: source, set: [variable] })
    const appEnvId = await made(bed)
    const from = { envName: await nameOf(bed, source), field: 'SHARED' }
    await bed.send('update-app-env-variables', { appEnvId, set: [{ name: 'COPY', from }] })
    await served(bed, appEnvId)
    expect(given(bed, appEnvId).COPY).toBe(variable.value)
    await bed.send('update-app-env-variables', { appEnvId: source, set: [secretVariable(bed, 'SHARED')] })
    await bed.send('apply-app-env-changes', { appEnvId })
    await reads(bed, appEnvId)
  },

  async 'rotates the password of a database'(bed) {
    const { appEnvId, databaseId, password } = await withDatabase(bed, ['url'])
    await bed.send('rotate-database-password', { appEnvId: databaseId })
    const rotated = await until(
      () => passwordOf(bed, databaseId),
      (now) => now !== password,
      'another password',
    )
    bed.sweep.secrets.know(`rotated password, ${bed.surface}`, rotated)
    await until(
      () => bed.send('get-app-env-history', { appEnvId: databaseId }),
      ({ activities }) => activities[0].status === 'DONE',
      'the end of the rotation',
    )
    await bed.send('apply-app-env-changes', { appEnvId })
    await reads(bed, databaseId)
    await reads(bed, appEnvId)
  },

  async 'is refused to delete what others refer to'(bed) {
    const { databaseId, databaseName } = await withDatabase(bed, ['password'])
    await bed.send('delete-app-env', { appEnvId: databaseId, ...confirmed(bed, databaseName) })
    expect((await bed.send('get-app-env', { appEnvId: databaseId })).appEnvId).toBe(databaseId)
  },

  async 'backs up and restores a database with its references'(bed) {
    const { databaseId, databaseName } = await withDatabase(bed, ['url'])
    const { backup } = await bed.send('create-app-env-backup', { appEnvId: databaseId })
    const { backupId } = backup
    const { accountId } = bed.sweep.platform
    await until(
      () => bed.send('list-app-env-backups', { accountId, appEnvId: databaseId }),
      ({ backups }) => backups[0].status === 'SUCCEEDED',
      'a backup',
    )
    await bed.send('restore-app-env-backup', {
      appEnvId: databaseId,
      backupId,
      ...confirmed(bed, databaseName),
    })
    await reads(bed, databaseId)
  },

  async 'undoes a change of a secret'(bed) {
    const appEnvId = await made(bed)
    await bed.send('update-app-env-variables', { appEnvId, set: [secretVariable(bed, 'KEY')] })
    await bed.send('update-app-env-variables', { appEnvId, set: [secretVariable(bed, 'KEY')] })
    const { accountId } = bed.sweep.platform
    const { entries } = await bed.send('list-audit', { accountId, objectId: appEnvId, limit: 1 })
    await bed.send('undo-change', { accountId, entryId: entries[0].entryId })
    await reads(bed, appEnvId)
  },

  async 'rolls back to a version with the old secret'(bed) {
    const appEnvId = await made(bed)
    for (const name of ['KEY', 'KEY']) {
      await bed.send('update-app-env-variables', { appEnvId, set: [secretVariable(bed, name)] })
      await served(bed, appEnvId)
    }
    await bed.send('compare-app-env-versions', { appEnvId, from: 1, to: 2 })
    await bed.send('redeploy-app-env', { appEnvId, version: 1 })
    await reads(bed, appEnvId)
  },

  async 'reads the log of a program that prints its secrets'(bed) {
    const appEnvId = await made(bed)
    const variable = secretVariable(bed, 'NOISY')
    await bed.send('update-app-env-variables', { appEnvId, set: [variable] })
    await served(bed, appEnvId)
    const containers = bed.sweep.platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
    const { value } = variable
    const forms = [
      value,
      encodeURIComponent(value),
      JSON.stringify(value),
      Buffer.from(value).toString('base64'),
    ]
    for (const container of containers)
      for (const text of forms) container.log('stderr', `Error: ${text}; goodbye`)
    await until(
      () => bed.send('get-logs', { appEnvId }),
      ({ logs }) => JSON.stringify(logs).split('goodbye').length > forms.length,
      'the lines',
    )
    await reads(bed, appEnvId)
  },

  async 'makes a contact point and is notified'(bed) {
    const { sweep, receiver } = bed
    const { accountId } = sweep.platform
    const config = {
      url: sweep.secrets.plant(`url, ${bed.surface}`, (core) => receiver.url(`/${core}`)),
      username: 'ops',
      password: sweep.secrets.plant(`password, ${bed.surface}`),
    }
    const input = { accountId, name: `hook ${bed.surface}`, type: 'webhook', config }
    const { contactPoint } = await bed.send('create-contact-point', input)
    const { contactPointId } = contactPoint
    await bed.send('test-contact-point', { contactPointId })
    receiver.answer = ({ path }) => ({ status: 500, body: `no ${path}` })
    await bed.send('test-contact-point', { contactPointId })
    receiver.answer = () => ({ status: 200 })
    await bed.send('update-contact-point', {
      contactPointId,
      config: { ...config, password: sweep.secrets.plant(`new password, ${bed.surface}`) },
    })
    await bed.send('get-contact-point', { contactPointId })
    await bed.send('list-contact-points', { accountId })
    await bed.sweep.rest(
      ofId('get-contact-point'),
      { contactPointId, showSecrets: true },
      sweep.platform.admin.token,
    )
  },

  async 'makes, lists and rotates tokens'(bed) {
    const appEnvId = await made(bed)
    const input = { name: `reads ${bed.surface}`, readOnly: true }
    const { admin } = bed.sweep.platform
    const { token } = (await bed.sweep.rest(ofId('create-user-token'), input, admin.token)).json
    expect(token).toMatch(/^lsu_/)
    await bed.send('list-user-tokens', {})
    await bed.send('rotate-app-env-token', { appEnvId })
    await bed.sweep.rest(ofId('list-user-tokens'), {}, token)
    await reads(bed, appEnvId)
  },

  async 'makes mistakes with secrets'(bed) {
    const appEnvId = await made(bed)
    const { value } = secretVariable(bed, 'X')
    const wrong: Json[] = [
      { name: 'not a name', value },
      { name: 'A', value: `${value}\u0001`.repeat(900) },
      { name: 'A', value, generate: { length: 20 } },
      { name: 'A', value, from: { envName: 'nowhere-prod', field: 'url' } },
      { name: 'A', value, isSecret: value },
    ]
    for (const one of wrong) {
      await bed.send('update-app-env-variables', { appEnvId, set: [one] }).catch((error: Error) => {
        bed.sweep.outputs.push({ where: 'error of the client', text: error.message })
      })
    }
    const good = { appEnvId, set: [{ name: 'A', value }] }
    await bed.sweep.rest(ofId('update-app-env-variables'), good, `lsu_${value}`)
    await reads(bed, appEnvId)
  },
}
