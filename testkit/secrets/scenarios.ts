import { expect } from 'vitest'
import type { Json } from '../api/scenario-call.ts'
import { untilRead } from '../until.ts'
import {
  confirmed,
  decrypted,
  given,
  made,
  nameOf,
  passwordOf,
  reads,
  type ScenarioFixture,
  secretVariable,
  served,
  withDatabase,
} from './scenario-steps.ts'
import { ofId } from './sweep.ts'

/** Scenarios of operators in which secrets are entered, made, referred to, changed, used and printed. */
export const secretScenarios: Record<string, (fixture: ScenarioFixture) => Promise<unknown>> = {
  async 'sets a secret variable and deploys it'(fixture) {
    const appEnvId = await made(fixture)
    const variable = secretVariable(fixture, 'API_KEY')
    await fixture.send('update-app-env-variables', { appEnvId, set: [variable] })
    await served(fixture, appEnvId)
    expect(given(fixture, appEnvId).API_KEY).toBe(variable.value)
    await reads(fixture, appEnvId)
  },

  async 'changes all variables in one call'(fixture) {
    const appEnvId = await made(fixture)
    await fixture.send('update-app-env', {
      appEnvId,
      envVars: [secretVariable(fixture, 'A'), secretVariable(fixture, 'B')],
    })
    await served(fixture, appEnvId)
    await fixture.send('update-app-env', {
      appEnvId,
      envVars: [secretVariable(fixture, 'A')],
      applyImmediately: true,
    })
    await reads(fixture, appEnvId)
  },

  async 'makes a value that nobody sees'(fixture) {
    const appEnvId = await made(fixture)
    await fixture.send('update-app-env-variables', {
      appEnvId,
      set: [{ name: 'SIGNING_KEY', generate: { length: 40 } }],
    })
    const [variable] = (await decrypted(fixture, appEnvId)).envVars
    fixture.sweep.secrets.know(`generated value, ${fixture.surface}`, variable.value)
    await served(fixture, appEnvId)
    expect(given(fixture, appEnvId).SIGNING_KEY).toBe(variable.value)
    await reads(fixture, appEnvId)
  },

  async 'has a person enter it on the one-time page'(fixture) {
    const appEnvId = await made(fixture)
    const { url } = await fixture.send('request-secret', { appEnvId, variable: 'STRIPE_KEY' })
    const value = fixture.sweep.secrets.plant(`entered value, ${fixture.surface}`, (core) => core)
    const page = await fetch(url, { method: 'POST', body: new URLSearchParams({ value }) })
    expect(page.status).toBe(200)
    fixture.sweep.outputs.push({ where: 'page of the person', text: await page.text() })
    await served(fixture, appEnvId)
    expect(given(fixture, appEnvId).STRIPE_KEY).toBe(value)
    await reads(fixture, appEnvId)
  },

  async 'connects an app to a database by reference'(fixture) {
    const { appEnvId, password } = await withDatabase(fixture, ['url', 'password', 'user', 'host'])
    expect(given(fixture, appEnvId).DB_PASSWORD).toBe(password)
    await reads(fixture, appEnvId)
  },

  async 'takes a variable of another environment'(fixture) {
    const source = await made(fixture)
    const variable = secretVariable(fixture, 'SHARED')
    await fixture.send('update-app-env-variables', { appEnvId: source, set: [variable] })
    const appEnvId = await made(fixture)
    const from = { envName: await nameOf(fixture, source), field: 'SHARED' }
    await fixture.send('update-app-env-variables', { appEnvId, set: [{ name: 'COPY', from }] })
    await served(fixture, appEnvId)
    expect(given(fixture, appEnvId).COPY).toBe(variable.value)
    await fixture.send('update-app-env-variables', {
      appEnvId: source,
      set: [secretVariable(fixture, 'SHARED')],
    })
    await fixture.send('apply-app-env-changes', { appEnvId })
    await reads(fixture, appEnvId)
  },

  async 'rotates the password of a database'(fixture) {
    const { appEnvId, databaseId, password } = await withDatabase(fixture, ['url'])
    await fixture.send('rotate-database-password', { appEnvId: databaseId })
    const rotated = await untilRead(
      () => passwordOf(fixture, databaseId),
      (now) => now !== password,
      'another password',
    )
    fixture.sweep.secrets.know(`rotated password, ${fixture.surface}`, rotated)
    await untilRead(
      () => fixture.send('get-app-env-history', { appEnvId: databaseId }),
      ({ activities }) => activities[0].status === 'DONE',
      'the end of the rotation',
    )
    await fixture.send('apply-app-env-changes', { appEnvId })
    await reads(fixture, databaseId)
    await reads(fixture, appEnvId)
  },

  async 'is refused to delete what others refer to'(fixture) {
    const { databaseId, databaseName } = await withDatabase(fixture, ['password'])
    await fixture.send('delete-app-env', { appEnvId: databaseId, ...confirmed(fixture, databaseName) })
    expect((await fixture.send('get-app-env', { appEnvId: databaseId })).appEnvId).toBe(databaseId)
  },

  async 'backs up and restores a database with its references'(fixture) {
    const { databaseId, databaseName } = await withDatabase(fixture, ['url'])
    const { backup } = await fixture.send('create-app-env-backup', { appEnvId: databaseId })
    const { backupId } = backup
    const { accountId } = fixture.sweep.platform
    await untilRead(
      () => fixture.send('list-app-env-backups', { accountId, appEnvId: databaseId }),
      ({ backups }) => backups[0].status === 'SUCCEEDED',
      'a backup',
    )
    await fixture.send('restore-app-env-backup', {
      appEnvId: databaseId,
      backupId,
      ...confirmed(fixture, databaseName),
    })
    await reads(fixture, databaseId)
  },

  async 'undoes a change of a secret'(fixture) {
    const appEnvId = await made(fixture)
    await fixture.send('update-app-env-variables', { appEnvId, set: [secretVariable(fixture, 'KEY')] })
    await fixture.send('update-app-env-variables', { appEnvId, set: [secretVariable(fixture, 'KEY')] })
    const { accountId } = fixture.sweep.platform
    const { entries } = await fixture.send('list-audit', { accountId, objectId: appEnvId, limit: 1 })
    await fixture.send('undo-change', { accountId, entryId: entries[0].entryId })
    await reads(fixture, appEnvId)
  },

  async 'rolls back to a version with the old secret'(fixture) {
    const appEnvId = await made(fixture)
    for (const name of ['KEY', 'KEY']) {
      await fixture.send('update-app-env-variables', { appEnvId, set: [secretVariable(fixture, name)] })
      await served(fixture, appEnvId)
    }
    await fixture.send('compare-app-env-versions', { appEnvId, from: 1, to: 2 })
    await fixture.send('redeploy-app-env', { appEnvId, version: 1 })
    await reads(fixture, appEnvId)
  },

  async 'reads the log of a program that prints its secrets'(fixture) {
    const appEnvId = await made(fixture)
    const variable = secretVariable(fixture, 'NOISY')
    await fixture.send('update-app-env-variables', { appEnvId, set: [variable] })
    await served(fixture, appEnvId)
    const { engine } = fixture.sweep.platform
    const containers = engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
    const { value } = variable
    const forms = [
      value,
      encodeURIComponent(value),
      JSON.stringify(value),
      Buffer.from(value).toString('base64'),
    ]
    for (const container of containers)
      for (const text of forms) container.log('stderr', `Error: ${text}; goodbye`)
    await untilRead(
      () => fixture.send('get-logs', { appEnvId }),
      ({ logs }) => JSON.stringify(logs).split('goodbye').length > forms.length,
      'the lines',
    )
    await reads(fixture, appEnvId)
  },

  async 'makes a contact point and is notified'(fixture) {
    const { sweep, receiver } = fixture
    const { accountId } = sweep.platform
    const config = {
      url: sweep.secrets.plant(`url, ${fixture.surface}`, (core) => receiver.url(`/${core}`)),
      username: 'ops',
      password: sweep.secrets.plant(`password, ${fixture.surface}`),
    }
    const input = { accountId, name: `hook ${fixture.surface}`, type: 'webhook', config }
    const { contactPoint } = await fixture.send('create-contact-point', input)
    const { contactPointId } = contactPoint
    await fixture.send('test-contact-point', { contactPointId })
    receiver.answer = ({ path }) => ({ status: 500, body: `no ${path}` })
    await fixture.send('test-contact-point', { contactPointId })
    receiver.answer = () => ({ status: 200 })
    await fixture.send('update-contact-point', {
      contactPointId,
      config: { ...config, password: sweep.secrets.plant(`new password, ${fixture.surface}`) },
    })
    await fixture.send('get-contact-point', { contactPointId })
    await fixture.send('list-contact-points', { accountId })
    await fixture.sweep.rest(
      ofId('get-contact-point'),
      { contactPointId, showSecrets: true },
      sweep.platform.admin.token,
    )
  },

  async 'makes, lists and rotates tokens'(fixture) {
    const appEnvId = await made(fixture)
    const input = { name: `reads ${fixture.surface}`, readOnly: true }
    const { admin } = fixture.sweep.platform
    const { token } = (await fixture.sweep.rest(ofId('create-user-token'), input, admin.token)).json
    expect(token).toMatch(/^lsu_/)
    await fixture.send('list-user-tokens', {})
    await fixture.send('rotate-app-env-token', { appEnvId })
    await fixture.sweep.rest(ofId('list-user-tokens'), {}, token)
    await reads(fixture, appEnvId)
  },

  async 'makes mistakes with secrets'(fixture) {
    const appEnvId = await made(fixture)
    const { value } = secretVariable(fixture, 'X')
    const wrong: Json[] = [
      { name: 'not a name', value },
      { name: 'A', value: `${value}\u0001`.repeat(900) },
      { name: 'A', value, generate: { length: 20 } },
      { name: 'A', value, from: { envName: 'nowhere-prod', field: 'url' } },
      { name: 'A', value, isSecret: value },
    ]
    for (const one of wrong) {
      await fixture.send('update-app-env-variables', { appEnvId, set: [one] }).catch((error: Error) => {
        fixture.sweep.outputs.push({ where: 'error of the client', text: error.message })
      })
    }
    const good = { appEnvId, set: [{ name: 'A', value }] }
    await fixture.sweep.rest(ofId('update-app-env-variables'), good, `lsu_${value}`)
    await reads(fixture, appEnvId)
  },
}
