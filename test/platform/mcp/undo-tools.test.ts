import { beforeAll, describe, expect, it } from 'vitest'
import { type Json, UndoFixture } from '../../../testkit/mcp/undo-fixture.ts'

const fixture = new UndoFixture()
let functionEnv = ''
let jobEnv = ''
beforeAll(async () => {
  const { platform } = fixture
  functionEnv = (await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })).appEnvId
  const app = { dockerPreset: 'JOB', jobConfig: { command: 'node' } }
  jobEnv = (await platform.makeEnvironment({ app, environment: { jobConfig: { args: ['first'] } } })).appEnvId
})

interface Kind {
  object: () => string
  change: () => [tool: string, input: Json]
  /** State that must be equal before the change and after the undo. */
  state: () => Promise<unknown>
}

const env = async (appEnvId: string) => fixture.call('get-app-env', { appEnvId, decrypt: true })
const alert = async () => {
  const {
    alert: _,
    currentValue,
    stateHistory,
    notifications,
    updatedAt,
    revision,
    ...rest
  } = await fixture.call('get-alert', {
    alertId: fixture.world.alertId,
  })
  return rest
}

const kinds: Record<string, Kind> = {
  'a secret variable set, another removed': {
    object: () => fixture.world.appEnvId,
    change: () => [
      'update-app-env-variables',
      {
        appEnvId: fixture.world.appEnvId,
        set: [{ name: 'NEW', value: 'secret' }],
        unset: ['WORLD_VARIABLE'],
        confirm: fixture.world.envName,
      },
    ],
    state: async () => (await env(fixture.world.appEnvId)).envVars,
  },
  'all variables replaced': {
    object: () => fixture.world.appEnvId,
    change: () => [
      'update-app-env',
      {
        appEnvId: fixture.world.appEnvId,
        envVars: [{ name: 'ONLY', value: 'one' }],
        confirm: fixture.world.envName,
      },
    ],
    state: async () => (await env(fixture.world.appEnvId)).envVars,
  },
  'size and name': {
    object: () => fixture.world.appEnvId,
    change: () => ['update-app-env', { appEnvId: fixture.world.appEnvId, zClouds: 2, name: 'other' }],
    state: async () => {
      const { zClouds, name, slug } = await env(fixture.world.appEnvId)
      return { zClouds, name, slug }
    },
  },
  scale: {
    object: () => fixture.world.appEnvId,
    change: () => ['scale-app-env-containers', { appEnvId: fixture.world.appEnvId, containers: 4 }],
    state: async () => (await env(fixture.world.appEnvId)).containers,
  },
  autoscaling: {
    object: () => fixture.world.appEnvId,
    change: () => [
      'update-app-env-autoscaling',
      { appEnvId: fixture.world.appEnvId, enabled: true, maxContainers: 5 },
    ],
    state: async () => (await env(fixture.world.appEnvId)).autoscaling,
  },
  'function config': {
    object: () => functionEnv,
    change: () => ['update-function-config', { appEnvId: functionEnv, containerConcurrency: 7, minScale: 1 }],
    state: async () => (await env(functionEnv)).functionConfig,
  },
  'function config in force at once': {
    object: () => functionEnv,
    change: () => ['update-function-config', { appEnvId: functionEnv, maxScale: 5, applyImmediately: true }],
    state: async () => (await env(functionEnv)).functionConfig,
  },
  'job config': {
    object: () => jobEnv,
    change: () => [
      'update-job-config',
      { appEnvId: jobEnv, command: 'python', args: [], timeoutSeconds: 60 },
    ],
    state: async () => (await env(jobEnv)).jobConfig,
  },
  'job config in force at once': {
    object: () => jobEnv,
    change: () => ['update-job-config', { appEnvId: jobEnv, backoffLimit: 3, applyImmediately: true }],
    state: async () => (await env(jobEnv)).effectiveJobConfig,
  },
  'an alert': {
    object: () => fixture.world.alertId,
    change: () => [
      'update-alert',
      {
        alertId: fixture.world.alertId,
        threshold: 5,
        name: 'x',
        contactPointIds: [fixture.world.contactPointId],
      },
    ],
    state: alert,
  },
  'a paused alert': {
    object: () => fixture.world.alertId,
    change: () => ['toggle-alert', { alertId: fixture.world.alertId, enabled: false }],
    state: alert,
  },
  'a contact point, with its secret address': {
    object: () => fixture.world.contactPointId,
    change: () => [
      'update-contact-point',
      {
        contactPointId: fixture.world.contactPointId,
        name: 'x',
        config: { url: 'https://elsewhere.example.com/y' },
      },
    ],
    state: async () => {
      const { name, config } = await fixture.point()
      return { name, config }
    },
  },
  'the access of a member': {
    object: () => fixture.world.membershipId,
    change: () => [
      'update-member-env-access',
      {
        accountId: fixture.world.accountId,
        membershipId: fixture.world.membershipId,
        allowedAppEnvIds: [fixture.world.appEnvId],
      },
    ],
    state: async () => {
      const { accountId, membershipId } = fixture.world
      const { revision, ...rest } = await fixture.call('get-member-env-access', { accountId, membershipId })
      return rest
    },
  },
}

describe('undo-change by an agent', () => {
  it.each(Object.keys(kinds))('restores %s', async (name) => {
    const { object, change, state } = kinds[name]!
    const before = await state()
    const [tool, input] = change()
    await fixture.call(tool, input)
    expect(await state()).not.toEqual(before)
    const { entryId, surface } = await fixture.newest(object(), tool)
    expect(surface).toBe('mcp')
    const tried = await fixture.call('undo-change', { entryId, dryRun: true })
    expect(tried).toMatchObject({
      dryRun: true,
      effects: [expect.stringMatching(/^Puts back /), expect.any(String)],
    })
    expect(await state()).not.toEqual(before)
    const said = await fixture.undo(entryId)
    expect(said.text).not.toMatch(/^Error/)
    expect(said.structured.undone).not.toEqual([])
    expect(await state()).toEqual(before)
    // The undo itself is an audit entry.
    // By a person: the loop breaker asks when an agent sets a field back and forth for the third time.
    await fixture.undoAsPerson((await fixture.newest(object(), 'undo-change')).entryId)
    expect(await state()).not.toEqual(before)
    await fixture.undoAsPerson((await fixture.newest(object(), 'undo-change')).entryId)
    expect(await state()).toEqual(before)
  })

  it('restores a list after a grant of full access, and reports a restored full access', async () => {
    const { accountId, appEnvId } = fixture.world
    // A member of its own: the loop breaker counts the changes of the tests above.
    const { membershipId } = await fixture.platform.makeUser()
    await fixture.call('update-member-env-access', { accountId, membershipId, allowedAppEnvIds: [appEnvId] })
    const restricting = await fixture.newest(membershipId, 'update-member-env-access')
    await fixture.call('update-member-env-access', { accountId, membershipId, grantFullAccess: true })
    const granting = await fixture.newest(membershipId, 'update-member-env-access')
    expect((await fixture.undo(restricting.entryId)).structured.details).toMatch(
      /Fields changed again since: .*Undo the later change first/,
    )
    await fixture.undoAsPerson(granting.entryId)
    expect(await fixture.call('get-member-env-access', { accountId, membershipId })).toMatchObject({
      allowedAppEnvIds: [appEnvId],
    })
    const { effects } = await fixture.call('undo-change', { entryId: restricting.entryId, dryRun: true })
    expect((effects as string[]).join(' ')).toContain('FULL access')
  })
})
