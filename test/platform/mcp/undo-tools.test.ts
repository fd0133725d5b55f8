import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openToolSession, type ToolReply, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { makeWorld, type World } from '../../../testkit/mcp/two-worlds.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let session: ToolSession
let world: World
let functionEnv = ''
let jobEnv = ''

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  const { accountId, admin } = platform
  session = await openToolSession(platform.apiUrl, { token: admin.token, toolPolicy: { allowSecrets: true } })
  world = await makeWorld(platform, 'WORLD', accountId)
  functionEnv = (await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })).appEnvId
  const job = { dockerPreset: 'JOB', jobConfig: { command: 'node' } }
  jobEnv = (await platform.makeEnvironment({ app: job, environment: { jobConfig: { args: ['first'] } } }))
    .appEnvId
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

type Json = Record<string, unknown>

async function call(name: string, input: Json, by = session): Promise<Json> {
  const said = await by.call(name, input)
  if (said.isError) throw new Error(`${name}: ${said.text}`)
  return said.structured
}

/** The newest change of an object, as the agent finds it; reads of secrets are on record too. */
async function newest(objectId: string, operation: string) {
  const { entries } = (await call('list-audit', { accountId: platform.accountId, objectId })) as {
    entries: { entryId: string; operation: string; outcome: string; surface: string }[]
  }
  const change = entries.find((entry) => !entry.operation.startsWith('get-'))
  expect(change).toMatchObject({ operation, outcome: 'done' })
  return change!
}

/** The steps of an agent whose host cannot ask: first without confirm, then with the name from the error. */
async function undo(entryId: string, by = session): Promise<ToolReply> {
  const asked = await by.call('undo-change', { entryId })
  const confirm = asked.structured.name ?? /exact name: (\S+)/.exec(asked.text)?.[1]
  return confirm === undefined ? asked : by.call('undo-change', { entryId, confirm })
}

interface Kind {
  object: () => string
  change: () => [tool: string, input: Json]
  /** State that must be equal before the change and after the undo. */
  state: () => Promise<unknown>
}

const env = async (appEnvId: string) => call('get-app-env', { appEnvId, decrypt: true })
const point = () => call('get-contact-point', { contactPointId: world.contactPointId, showSecrets: true })
const alert = async () => {
  const {
    alert: _,
    currentValue,
    stateHistory,
    notifications,
    updatedAt,
    revision,
    ...rest
  } = await call('get-alert', {
    alertId: world.alertId,
  })
  return rest
}

const kinds: Record<string, Kind> = {
  'a secret variable set, another removed': {
    object: () => world.appEnvId,
    change: () => [
      'update-app-env-variables',
      { appEnvId: world.appEnvId, set: [{ name: 'NEW', value: 'secret' }], unset: ['WORLD_VARIABLE'] },
    ],
    state: async () => (await env(world.appEnvId)).envVars,
  },
  'all variables replaced': {
    object: () => world.appEnvId,
    change: () => ['update-app-env', { appEnvId: world.appEnvId, envVars: [{ name: 'ONLY', value: 'one' }] }],
    state: async () => (await env(world.appEnvId)).envVars,
  },
  'size and name': {
    object: () => world.appEnvId,
    change: () => ['update-app-env', { appEnvId: world.appEnvId, zClouds: 2, name: 'other' }],
    state: async () => {
      const { zClouds, name, slug } = await env(world.appEnvId)
      return { zClouds, name, slug }
    },
  },
  scale: {
    object: () => world.appEnvId,
    change: () => ['scale-app-env-containers', { appEnvId: world.appEnvId, containers: 4 }],
    state: async () => (await env(world.appEnvId)).containers,
  },
  autoscaling: {
    object: () => world.appEnvId,
    change: () => [
      'update-app-env-autoscaling',
      { appEnvId: world.appEnvId, enabled: true, maxContainers: 5 },
    ],
    state: async () => (await env(world.appEnvId)).autoscaling,
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
    object: () => world.alertId,
    change: () => [
      'update-alert',
      { alertId: world.alertId, threshold: 5, name: 'x', contactPointIds: [world.contactPointId] },
    ],
    state: alert,
  },
  'a paused alert': {
    object: () => world.alertId,
    change: () => ['toggle-alert', { alertId: world.alertId, enabled: false }],
    state: alert,
  },
  'a contact point, with its secret address': {
    object: () => world.contactPointId,
    change: () => [
      'update-contact-point',
      { contactPointId: world.contactPointId, name: 'x', config: { url: 'https://elsewhere.example.com/y' } },
    ],
    state: async () => {
      const { name, config } = await point()
      return { name, config }
    },
  },
  'the access of a member': {
    object: () => world.membershipId,
    change: () => [
      'update-member-env-access',
      { accountId: world.accountId, membershipId: world.membershipId, allowedAppEnvIds: [world.appEnvId] },
    ],
    state: async () => {
      const { accountId, membershipId } = world
      const { revision, ...rest } = await call('get-member-env-access', { accountId, membershipId })
      return rest
    },
  },
}

describe('undo-change by an agent', () => {
  it.each(Object.keys(kinds))('restores %s', async (name) => {
    const { object, change, state } = kinds[name]!
    const before = await state()
    const [tool, input] = change()
    await call(tool, input)
    expect(await state()).not.toEqual(before)
    const { entryId, surface } = await newest(object(), tool)
    expect(surface).toBe('mcp')
    const tried = await call('undo-change', { entryId, dryRun: true })
    expect(tried).toMatchObject({
      dryRun: true,
      effects: [expect.stringMatching(/^Puts back /), expect.any(String)],
    })
    expect(await state()).not.toEqual(before)
    const said = await undo(entryId)
    expect(said.text).not.toMatch(/^Error/)
    expect(said.structured.undone).not.toEqual([])
    expect(await state()).toEqual(before)
    // The undo itself is an audit entry.
    const again = await undo((await newest(object(), 'undo-change')).entryId)
    expect(again.isError).toBe(false)
    expect(await state()).not.toEqual(before)
    expect((await undo((await newest(object(), 'undo-change')).entryId)).isError).toBe(false)
    expect(await state()).toEqual(before)
  })

  it('restores a list after a grant of full access, and reports a restored full access', async () => {
    const { accountId, membershipId, appEnvId } = world
    await call('update-member-env-access', { accountId, membershipId, allowedAppEnvIds: [appEnvId] })
    const restricting = await newest(membershipId, 'update-member-env-access')
    await call('update-member-env-access', { accountId, membershipId, grantFullAccess: true })
    const granting = await newest(membershipId, 'update-member-env-access')
    expect((await undo(restricting.entryId)).structured.details).toMatch(
      /Fields changed again since: .*Undo the later change first/,
    )
    expect((await undo(granting.entryId)).isError).toBe(false)
    expect(await call('get-member-env-access', { accountId, membershipId })).toMatchObject({
      allowedAppEnvIds: [appEnvId],
    })
    expect((await undo(restricting.entryId)).text).toContain('FULL access again')
  })

  const send = async (method: string, path: string, input: Json) =>
    platform.request(method, path, { token: platform.admin.token, input })

  it('is rejected for irreversible changes, with the reason, and changes nothing', async () => {
    const other = await makeWorld(platform, 'OTHER', platform.accountId)
    const { appEnvId, contactPointId, alertId, membershipId, appId } = other
    const image = await platform.makeEnvironment({ app: { useImage: true } })
    const cases: [
      what: string,
      make: () => Promise<unknown>,
      objectId: () => string,
      operation: string,
      why: RegExp,
    ][] = [
      [
        'a creation',
        async () => {},
        () => alertId,
        'create-alert',
        /created the object\. Delete the object instead/,
      ],
      [
        'a deployment',
        () =>
          send('POST', '/app-env/deploy-image', {
            appEnvId: image.appEnvId,
            image: 'registry.example.com/x:1',
          }),
        () => image.appEnvId,
        'deploy-app-env-image',
        /changed more than settings .*Use redeploy-app-env with an earlier version/,
      ],
      [
        'a token',
        () => send('POST', '/app-env/token', { appEnvId }),
        () => appEnvId,
        'rotate-app-env-token',
        /changed more than settings|Changes of type \S+ cannot be undone|changed nothing/,
      ],
      [
        'a canceled run',
        () => send('POST', '/job-run/cancel', { jobRunId: other.jobRunId }),
        () => other.jobRunId,
        'cancel-job-run',
        /Changes of type job-run cannot be undone/,
      ],
      [
        'a deleted alert',
        () => send('DELETE', '/alert', { alertId }),
        () => alertId,
        'delete-alert',
        /deletions are permanent/,
      ],
      [
        'a deleted contact point',
        () => send('DELETE', '/contact-point', { contactPointId }),
        () => contactPointId,
        'delete-contact-point',
        /deletions are permanent/,
      ],
      [
        'a removed member',
        () => send('DELETE', '/member', { accountId: platform.accountId, membershipId }),
        () => membershipId,
        'remove-member',
        /deletions are permanent/,
      ],
      [
        'a deleted environment',
        () => send('DELETE', '/app-env', { appEnvId }),
        () => appEnvId,
        'delete-app-env',
        /deletions are permanent/,
      ],
      [
        'a deleted app',
        () => send('DELETE', '/app', { appId }),
        () => appId,
        'delete-app',
        /Changes of type app cannot be undone|deletions are permanent/,
      ],
    ]
    for (const [what, make, objectId, operation, why] of cases) {
      await make()
      const { entryId } = await newest(objectId(), operation).catch(() => ({ entryId: '' }))
      if (entryId === '') throw new Error(`${what} left no entry of ${operation}`)
      const said = await undo(entryId)
      expect(said.structured, what).toMatchObject({ error: 'This change cannot be undone' })
      expect(said.structured.details, what).toMatch(why)
      expect(said.structured.details, what).toMatch(/Nothing was changed\.$/)
    }
  })

  it('is rejected for a deleted object and for a rejected entry', async () => {
    const made = await makeWorld(platform, 'GONE', platform.accountId)
    await call('scale-app-env-containers', { appEnvId: made.appEnvId, containers: 3 })
    const scaled = await newest(made.appEnvId, 'scale-app-env-containers')
    const member = await platform.makeUser()
    await platform.request('POST', '/app-env/token', {
      token: member.token,
      input: { appEnvId: made.appEnvId },
    })
    const { entries } = (await call('list-audit', {
      accountId: platform.accountId,
      objectId: made.appEnvId,
      limit: 1,
    })) as {
      entries: { entryId: string; outcome: string }[]
    }
    expect(entries[0]!.outcome).toBe('refused')
    expect((await undo(entries[0]!.entryId)).structured.details).toContain(
      'The call was rejected, so there is nothing to undo',
    )
    await send('DELETE', '/app-env', { appEnvId: made.appEnvId })
    expect((await undo(scaled.entryId)).structured.details).toContain('has been deleted')
  })

  it('never sends the current password to an earlier address', async () => {
    const { contactPointId } = world
    const url = (name: string) => `https://${name}.example.com/hook`
    await call('update-contact-point', { contactPointId, config: { url: url('one'), password: 'first' } })
    await call('update-contact-point', { contactPointId, config: { url: url('two'), password: '' } })
    const moved = await newest(contactPointId, 'update-contact-point')
    await call('update-contact-point', { contactPointId, config: { password: 'second' } })
    const said = await undo(moved.entryId)
    expect(said.isError).toBe(true)
    expect(((await point()).config as Json).url).toBe(url('two'))
  })

  it('A3 M2 is for admins, and for accessible environments', async () => {
    const { entryId } = await newest(world.appEnvId, 'undo-change')
    const member = await platform.makeUser()
    const asMember = await openToolSession(platform.apiUrl, { token: member.token })
    expect((await undo(entryId, asMember)).structured.error).toBe('Admin permission required')
    await asMember.close()
    const elsewhere = await platform.makeEnvironment()
    const half = await platform.makeUser({ admin: true, allowedAppEnvIds: [elsewhere.appEnvId] })
    await send('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: true })
    const asHalf = await openToolSession(platform.apiUrl, { token: half.token })
    expect((await undo(entryId, asHalf)).structured.error).toBe('You have no access to this audit entry')
    await asHalf.close()
    await send('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: false })
  })
})
