import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let session: ToolSession
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

async function imageEnvironment() {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  return { appEnvId, image: 'registry.example.com/app:1' }
}

/** Deploys, and leaves as soon as the wait has begun. */
async function leave(input: Record<string, unknown>) {
  const controller = new AbortController()
  const options = { signal: controller.signal, onprogress: () => controller.abort() }
  await expect(session.call('deploy-app-env-image', input, options)).rejects.toThrow()
}

describe('a call that came again', () => {
  it('because its caller left before the result deploys once', async () => {
    const input = await imageEnvironment()
    await leave(input)
    const again = await session.call('deploy-app-env-image', { ...input })
    expect(again.structured.deployment).toMatchObject({ version: 1, finished: false })
    const other = await session.call('deploy-app-env-image', {
      ...input,
      image: 'registry.example.com/app:2',
    })
    expect(other.structured).toMatchObject({ version: 2 })
  })

  it('while the first still waits joins it', async () => {
    const input = await imageEnvironment()
    const both = await Promise.all([1, 2].map(() => session.call('deploy-app-env-image', input)))
    expect(both.map(({ structured }) => structured.version)).toEqual([1, 1])
  })

  it('after its result is a new deployment', async () => {
    const input = await imageEnvironment()
    const versions: unknown[] = []
    for (const _ of [1, 2])
      versions.push((await session.call('deploy-app-env-image', input)).structured.version)
    expect(versions).toEqual([1, 2])
  })
})

it('a client without progress gets its answer before its host times out', async () => {
  const input = await imageEnvironment()
  const said = await session.call('deploy-app-env-image', { ...input, waitSeconds: 1_800 })
  expect(said.text).toMatch(/^Not finished: .* after 45 s/)
  expect(said.structured.nextActions).toEqual([
    { tool: 'get-app-env-status', input: { appEnvId: input.appEnvId }, why: expect.any(String) },
  ])
})

it('lists refuse a cursor, because none was issued', async () => {
  const { client } = session
  for (const list of [
    () => client.listTools({ cursor: 'next' }),
    () => client.listPrompts({ cursor: 'next' }),
    () => client.listResources({ cursor: 'next' }),
    () => client.listResourceTemplates({ cursor: 'next' }),
  ]) {
    await expect(list()).rejects.toMatchObject({ code: -32602 })
  }
})

it('a tool that does not exist gets the nearest, and advice beyond the list says how to list it', async () => {
  expect((await session.call('create-cron-job', {})).text).toContain(
    'Longshore has no schedules; the nearest is',
  )
  const unlisted = await session.call('create-app-env-backup', {
    appEnvId: (await imageEnvironment()).appEnvId,
  })
  expect(unlisted.isError).toBe(true)
})
