import { describe, expect, it } from 'vitest'
import { makeWorld } from '../../../testkit/mcp/account-world.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { type Json, UndoFixture } from '../../../testkit/mcp/undo-fixture.ts'

const fixture = new UndoFixture()

describe('what an agent cannot undo', () => {
  const send = async (method: string, path: string, input: Json) =>
    fixture.platform.request(method, path, { token: fixture.platform.admin.token, input })

  it('is rejected for irreversible changes, with the reason, and changes nothing', async () => {
    const other = await makeWorld(fixture.platform, 'OTHER', fixture.platform.accountId)
    const { appEnvId, contactPointId, alertId, membershipId, appId } = other
    const image = await fixture.platform.makeEnvironment({ app: { useImage: true } })
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
        () => send('DELETE', '/member', { accountId: fixture.platform.accountId, membershipId }),
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
      const { entryId } = await fixture.newest(objectId(), operation).catch(() => ({ entryId: '' }))
      if (entryId === '') throw new Error(`${what} left no entry of ${operation}`)
      const said = await fixture.undo(entryId)
      expect(said.structured, what).toMatchObject({ error: 'This change cannot be undone' })
      expect(said.structured.details, what).toMatch(why)
      expect(said.structured.details, what).toMatch(/Nothing was changed\.$/)
    }
  })

  it('is rejected for a deleted object and for a rejected entry', async () => {
    const made = await makeWorld(fixture.platform, 'GONE', fixture.platform.accountId)
    await fixture.call('scale-app-env-containers', { appEnvId: made.appEnvId, containers: 3 })
    const scaled = await fixture.newest(made.appEnvId, 'scale-app-env-containers')
    const member = await fixture.platform.makeUser()
    await fixture.platform.request('POST', '/app-env/token', {
      token: member.token,
      input: { appEnvId: made.appEnvId },
    })
    const { entries } = (await fixture.call('list-audit', {
      accountId: fixture.platform.accountId,
      objectId: made.appEnvId,
      limit: 1,
    })) as {
      entries: { entryId: string; outcome: string }[]
    }
    expect(entries[0]!.outcome).toBe('refused')
    expect((await fixture.undo(entries[0]!.entryId)).structured.details).toContain(
      'The call was rejected, so there is nothing to undo',
    )
    await send('DELETE', '/app-env', { appEnvId: made.appEnvId })
    expect((await fixture.undo(scaled.entryId)).structured.details).toContain('has been deleted')
  })

  it('never sends the current password to an earlier address', async () => {
    const { contactPointId } = fixture.world
    const url = (name: string) => `https://${name}.example.com/hook`
    const first = { url: url('one'), password: 'first' }
    await fixture.call('update-contact-point', { contactPointId, config: first })
    await fixture.call('update-contact-point', { contactPointId, config: { url: url('two'), password: '' } })
    const moved = await fixture.newest(contactPointId, 'update-contact-point')
    await fixture.call('update-contact-point', { contactPointId, config: { password: 'second' } })
    const said = await fixture.undo(moved.entryId)
    expect(said.isError).toBe(true)
    expect(((await fixture.point()).config as Json).url).toBe(url('two'))
  })

  it('A3 M2 is for admins, and for accessible environments', async () => {
    const { appEnvId } = fixture.world
    await fixture.call('scale-app-env-containers', { appEnvId, containers: 2 })
    const { entryId } = await fixture.newest(appEnvId, 'scale-app-env-containers')
    const member = await fixture.platform.makeUser()
    const asMember = await openToolSession(fixture.platform.apiUrl, { token: member.token })
    expect((await fixture.undo(entryId, asMember)).structured.error).toBe('Admin permission required')
    await asMember.close()
    const elsewhere = await fixture.platform.makeEnvironment()
    const half = await fixture.platform.makeUser({ admin: true, allowedAppEnvIds: [elsewhere.appEnvId] })
    await send('PATCH', '/account', { accountId: fixture.platform.accountId, memberEnvAccessEnabled: true })
    const asHalf = await openToolSession(fixture.platform.apiUrl, { token: half.token })
    const { structured } = await fixture.undo(entryId, asHalf)
    expect(structured.error).toBe('You have no access to this audit entry')
    await asHalf.close()
    await send('PATCH', '/account', { accountId: fixture.platform.accountId, memberEnvAccessEnabled: false })
  })
})
