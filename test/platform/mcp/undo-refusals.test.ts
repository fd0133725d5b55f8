import { describe, expect, it } from 'vitest'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { makeWorld } from '../../../testkit/mcp/two-worlds.ts'
import { type Json, UndoBed } from '../../../testkit/mcp/undo-bed.ts'

const bed = new UndoBed()

describe('what an agent cannot undo', () => {
  const send = async (method: string, path: string, input: Json) =>
    bed.platform.request(method, path, { token: bed.platform.admin.token, input })

  it('is rejected for irreversible changes, with the reason, and changes nothing', async () => {
    const other = await makeWorld(bed.platform, 'OTHER', bed.platform.accountId)
    const { appEnvId, contactPointId, alertId, membershipId, appId } = other
    const image = await bed.platform.makeEnvironment({ app: { useImage: true } })
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
        () => send('DELETE', '/member', { accountId: bed.platform.accountId, membershipId }),
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
      const { entryId } = await bed.newest(objectId(), operation).catch(() => ({ entryId: '' }))
      if (entryId === '') throw new Error(`${what} left no entry of ${operation}`)
      const said = await bed.undo(entryId)
      expect(said.structured, what).toMatchObject({ error: 'This change cannot be undone' })
      expect(said.structured.details, what).toMatch(why)
      expect(said.structured.details, what).toMatch(/Nothing was changed\.$/)
    }
  })

  it('is rejected for a deleted object and for a rejected entry', async () => {
    const made = await makeWorld(bed.platform, 'GONE', bed.platform.accountId)
    await bed.call('scale-app-env-containers', { appEnvId: made.appEnvId, containers: 3 })
    const scaled = await bed.newest(made.appEnvId, 'scale-app-env-containers')
    const member = await bed.platform.makeUser()
    await bed.platform.request('POST', '/app-env/token', {
      token: member.token,
      input: { appEnvId: made.appEnvId },
    })
    const { entries } = (await bed.call('list-audit', {
      accountId: bed.platform.accountId,
      objectId: made.appEnvId,
      limit: 1,
    })) as {
      entries: { entryId: string; outcome: string }[]
    }
    expect(entries[0]!.outcome).toBe('refused')
    expect((await bed.undo(entries[0]!.entryId)).structured.details).toContain(
      'The call was rejected, so there is nothing to undo',
    )
    await send('DELETE', '/app-env', { appEnvId: made.appEnvId })
    expect((await bed.undo(scaled.entryId)).structured.details).toContain('has been deleted')
  })

  it('never sends the current password to an earlier address', async () => {
    const { contactPointId } = bed.world
    const url = (name: string) => `https://${name}.example.com/hook`
    await bed.call('update-contact-point', { contactPointId, config: { url: url('one'), password: 'first' } })
    await bed.call('update-contact-point', { contactPointId, config: { url: url('two'), password: '' } })
    const moved = await bed.newest(contactPointId, 'update-contact-point')
    await bed.call('update-contact-point', { contactPointId, config: { password: 'second' } })
    const said = await bed.undo(moved.entryId)
    expect(said.isError).toBe(true)
    expect(((await bed.point()).config as Json).url).toBe(url('two'))
  })

  it('A3 M2 is for admins, and for accessible environments', async () => {
    const { appEnvId } = bed.world
    await bed.call('scale-app-env-containers', { appEnvId, containers: 2 })
    const { entryId } = await bed.newest(appEnvId, 'scale-app-env-containers')
    const member = await bed.platform.makeUser()
    const asMember = await openToolSession(bed.platform.apiUrl, { token: member.token })
    expect((await bed.undo(entryId, asMember)).structured.error).toBe('Admin permission required')
    await asMember.close()
    const elsewhere = await bed.platform.makeEnvironment()
    const half = await bed.platform.makeUser({ admin: true, allowedAppEnvIds: [elsewhere.appEnvId] })
    await send('PATCH', '/account', { accountId: bed.platform.accountId, memberEnvAccessEnabled: true })
    const asHalf = await openToolSession(bed.platform.apiUrl, { token: half.token })
    expect((await bed.undo(entryId, asHalf)).structured.error).toBe('You have no access to this audit entry')
    await asHalf.close()
    await send('PATCH', '/account', { accountId: bed.platform.accountId, memberEnvAccessEnabled: false })
  })
})
