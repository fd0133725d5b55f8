import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead, type Operation } from '../../../src/contract/operation.ts'
import { createLog } from '../../../src/log.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import { type CallRecord, runScenario } from '../../../testkit/api/example-scenario.ts'
import type { Json } from '../../../testkit/api/scenario-call.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { Canaries, filesBelow, type Output, rowsOf } from '../../../testkit/secrets/canaries.ts'
import {
  failNotifications,
  refuseBrokenRequests,
  refuseContactPoints,
  refuseVariables,
} from '../../../testkit/secrets/refused-secrets.ts'
import { ofId, SecretSweep } from '../../../testkit/secrets/sweep.ts'
import { untilRead } from '../../../testkit/until.ts'
import { tools } from '../../../tools/index.ts'

const sweep = new SecretSweep()
const { secrets, outputs } = sweep
const log: Output = { where: 'process log', text: '' }
let platform: TestPlatform
let receiver: Receiver
let outside: ToolSession

const waiting = new Set(
  operations.filter(({ id }) => tools.find(({ name }) => name === id)?.waits).map(({ id }) => id),
)

/** The calls of the scenario with a secret in every field that accepts one. */
function dress(id: string, input: Json): Json {
  const variable = (name: string, type: string) => ({
    name,
    value: secrets.plant(`variable ${name} of ${id}`),
    type,
    isSecret: true,
  })
  const { cliEnvName: _, ...plain } = input
  if (id === 'create-app-env') {
    return {
      ...plain,
      envVars: [variable('DEPLOYED', 'DEPLOY'), variable('BUILT', 'BUILD'), variable('BOTH', 'BOTH')],
    }
  }
  if (id === 'update-app-env')
    return { ...plain, envVars: [variable('DEPLOYED', 'DEPLOY'), variable('BOTH', 'BOTH')] }
  if (id === 'update-app-env-variables')
    return { ...plain, set: [variable('DEPLOYED', 'DEPLOY'), variable('ADDED', 'BOTH')] }
  if (id === 'create-contact-point') {
    return {
      ...plain,
      config: {
        url: secrets.plant('url of webhook', (core) => receiver.url(`/${core}?key=${core}`)),
        username: secrets.plantPrivate('user name of webhook'),
        password: secrets.plant('password of webhook'),
      },
    }
  }
  if (id === 'add-member') return { ...plain, email: `${secrets.count}@example.com` }
  return plain
}

const pointConfigs = (): Record<string, Json> => ({
  chat: {
    webhookUrl: secrets.plant('chat address', (core) => receiver.url(`/${core}`)),
    channel: secrets.plantPrivate('chat channel', (core) => `#${core}`),
    mentionUsers: [secrets.plantPrivate('chat mention', (core) => `U${core}`)],
  },
  incident: { integrationKey: secrets.plant('integration key', (core) => core) },
  webhook: {
    url: secrets.plant('webhook address', (core) => receiver.url(`/${core}`)),
    username: secrets.plantPrivate('webhook user'),
    password: secrets.plant('webhook password'),
  },
  email: { addresses: [secrets.plantPrivate('e-mail address', (core) => `${core}@example.com`)] },
})

beforeAll(async () => {
  receiver = await Receiver.start()
  platform = await TestPlatform.start({
    ingress: { host: '127.0.0.1', port: receiver.port },
    log: createLog('sweep', 'trace', {
      write(line) {
        log.text += line
      },
    }),
  })
  sweep.platform = platform
  secrets.know('token of the admin', platform.admin.token)
  const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Elsewhere') })
  outside = await openToolSession(platform.apiUrl, { token: stranger.token })
})
afterAll(async () => {
  await sweep.session?.close()
  await outside?.close()
  await platform.close()
  await receiver.close()
})

/** The REST scenario keeps its objects for later reads; the tools' scenario also deletes them. */
async function runScenarios(): Promise<CallRecord[]> {
  const overRest = await runScenario(platform, receiver.url('/hook'), {
    keeps: true,
    dress,
    send: async (row, input, token) => {
      const { status, json, text } = await sweep.rest(row, input, token, {
        'idempotency-key': `${row.id} ${Math.random()}`,
      })
      if (status !== 200) throw new Error(`${row.id}: ${text}`)
      return json
    },
  })
  const person = () => ({ action: 'accept' as const, content: { agree: true } })
  sweep.session = await openToolSession(platform.apiUrl, {
    token: platform.admin.token,
    toolPolicy: { allowSecrets: true },
    person,
  })
  await runScenario(platform, receiver.url('/hook'), {
    dress,
    world: 'TOOLS',
    send: async (row, input, token) => {
      if (row.id === 'rotate-user-token') return { token }
      if (isForPeople(row, input)) return (await sweep.rest(row, input, token)).json
      const said = await sweep.tool(row, { ...input, ...(waiting.has(row.id) ? { wait: false } : {}) })
      if (said.isError) throw new Error(`${row.id}: ${said.text}`)
      return said.structured
    },
  })
  return overRest
}

/** No tool can make this call, because the row or an input is for people only. */
function isForPeople(row: Operation, input: Json): boolean {
  const tool = tools.find(({ name }) => name === row.id)
  return tool === undefined || tool.peopleInputs.some((name) => name in input)
}

async function makeContactPoints(): Promise<string[]> {
  const made: string[] = []
  for (const [type, config] of Object.entries(pointConfigs())) {
    const { accountId, admin } = platform
    const input = { accountId, name: type, type, config }
    const { json } = await sweep.rest(ofId('create-contact-point'), input, admin.token)
    made.push(json.contactPoint.contactPointId)
  }
  return made
}

it('a sweep finds a secret in every encoding', () => {
  const canaries = new Canaries()
  const value = canaries.plant('x', (core) => core)
  for (const text of [
    `a ${value} b`,
    encodeURIComponent(`?${value}&`),
    JSON.stringify(JSON.stringify({ value })),
    ...['', 'u:', 'user:'].map((before) => Buffer.from(`${before}${value}, and more`).toString('base64')),
    Buffer.from(value).toString('base64url'),
    Buffer.from(value).toString('hex'),
  ]) {
    expect(canaries.foundIn([{ where: 'here', text }]), text).toHaveLength(1)
  }
  expect(canaries.foundIn([{ where: 'here', text: value.slice(0, -1) }])).toEqual([])
})

describe('no secret leaks', () => {
  let played: CallRecord[] = []
  let points: string[] = []
  let database = ''

  it('from any response of a whole scenario, over REST and through tools', async () => {
    played = await runScenarios()
    points = await makeContactPoints()
    expect(secrets.foundIn(outputs)).toEqual([])
    // The receiver and the containers must have got it.
    const sent = receiver.sent.find(({ headers }) => headers.authorization)
    expect(secrets.foundIn([{ where: 'receiver', text: JSON.stringify(sent) }])).not.toEqual([])
  })

  it('from a managed database, except in its decrypted hosts', async () => {
    const { accountId, region, admin } = platform
    const { json } = await sweep.rest(
      ofId('create-app'),
      { accountId, name: 'data', dockerPreset: 'POSTGRESQL' },
      admin.token,
    )
    const made = await sweep.rest(
      ofId('create-app-env'),
      { accountId, appId: json.appId, name: 'data', region },
      admin.token,
    )
    database = made.json.appEnvId
    const read = (more: Json = {}) =>
      sweep.rest(ofId('get-app-env'), { appEnvId: database, ...more }, admin.token)
    const shown = await untilRead(
      () => read({ decrypt: true }),
      ({ json }) => json.hosts.length > 0,
      'hosts',
    )
    const url = new URL(shown.json.hosts[0].url)
    expect(url.password.length).toBeGreaterThan(15)
    secrets.know('database password', decodeURIComponent(url.password))
    await read()
    expect(secrets.foundIn(outputs)).toEqual([])
  })

  it('from any read or dry run, for any caller', async () => {
    const reader = (
      await sweep.rest(ofId('create-user-token'), { name: 'reads', readOnly: true }, platform.admin.token)
    ).json.token
    const calls = played.map(({ row, input }) => ({ row, input }))
    for (const contactPointId of points)
      calls.push({ row: ofId('get-contact-point'), input: { contactPointId } })
    calls.push({ row: ofId('get-app-env'), input: { appEnvId: database } })
    for (const { row, input } of calls) {
      const rehearsed: Record<string, string> = isRead(row) ? {} : { 'dry-run': 'true' }
      await sweep.rest(row, input, platform.admin.token, rehearsed)
      await sweep.rest(row, input, reader, rehearsed)
      if (isForPeople(row, input)) continue
      await sweep.tool(row, isRead(row) ? input : { ...input, dryRun: true })
      await sweep.tool(row, isRead(row) ? input : { ...input, dryRun: true }, outside)
    }
    let cursor: string | null = null
    do {
      const input: Json = { accountId: platform.accountId, limit: 200, ...(cursor ? { cursor } : {}) }
      cursor = (await sweep.rest(ofId('list-audit'), input, platform.admin.token)).json.cursor
      await sweep.tool(ofId('list-audit'), input)
    } while (cursor)
    expect(secrets.foundIn(outputs)).toEqual([])
  })

  it('from an error about the input that contains it', async () => {
    const env = played.find(({ row }) => row.id === 'create-app-env')!.answer.appEnvId
    const webhook = points[2]!
    await refuseVariables(sweep, env)
    await refuseContactPoints(sweep, webhook)
    await refuseBrokenRequests(sweep)
    expect(secrets.foundIn(outputs)).toEqual([])
  })

  it('from a notification that cannot be delivered', async () => {
    await failNotifications(sweep, receiver)
    expect(secrets.foundIn(outputs)).toEqual([])
  })

  it('from the store, the run directories and the log of the process', async () => {
    await platform.log.flush?.()
    const files = [...filesBelow(platform.dir), ...(await rowsOf(platform.db))]
    expect(files.map(({ where }) => where)).toContain('table app_envs')
    expect(secrets.foundIn(files, { inStore: true })).toEqual([])
    expect(secrets.foundIn([log])).toEqual([])
    expect(log.text.length).toBeGreaterThan(1_000)
  })

  it('except where it was requested', async () => {
    for (const contactPointId of points) {
      await sweep.rest(ofId('get-contact-point'), { contactPointId, showSecrets: true }, platform.admin.token)
      await sweep.tool(ofId('get-contact-point'), { contactPointId, showSecrets: true })
    }
    const found = secrets.foundIn(sweep.explicit).join('\n')
    for (const name of [
      'chat address',
      'integration key',
      'webhook password',
      'e-mail address',
      'database password',
    ]) {
      expect(found).toContain(name)
    }
    expect(secrets.count).toBeGreaterThan(30)
  })
})
