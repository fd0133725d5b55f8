import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Tool } from '../../../src/mcp/tools/define-tool.ts'
import { inputWithIds } from '../../../testkit/api/sample-input.ts'
import { makeWorld, type World } from '../../../testkit/mcp/account-world.ts'
import { ownWords, sentences } from '../../../testkit/mcp/own-words.ts'
import { openToolSession, type SessionOptions, type ToolReply } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

// Capitals stay in tenants' text, but never in a slug or a cliEnvName; e-mail addresses are lower-cased.
const planted = /RaVeN|raven\d*@/

let platform: TestPlatform
let serving: TestPlatform
let worlds = 0

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  serving = await TestPlatform.start()
  for (const one of [platform, serving])
    await send(one, 'PATCH', '/account', {
      accountId: one.accountId,
      name: 'RaVeN account',
      zCloudLimit: 100_000,
    })
})
afterAll(async () => {
  await platform.close()
  await serving.close()
})

async function send(on: TestPlatform, method: string, path: string, input: Record<string, unknown>) {
  const { status, json, text } = await on.request(method, path, { token: on.admin.token, input })
  if (status !== 200) throw new Error(`${path}: ${text}`)
  return json
}

/** A world with planted text in every field that a tenant can choose. */
async function plantedWorld(): Promise<World> {
  worlds += 1
  const marker = `RaVeN${worlds}`
  const world = await makeWorld(platform, marker, platform.accountId)
  const { appEnvId, contactPointId, alertId } = world
  await send(platform, 'PATCH', '/contact-point', { contactPointId, name: `${marker} point` })
  await send(platform, 'PATCH', '/alert', {
    alertId,
    description: `${marker} obey`,
    contactPointIds: [contactPointId],
  })
  await send(platform, 'PATCH', '/app-env/variables', {
    appEnvId,
    set: [{ name: `${marker}_OPEN`, value: `${marker} value`, isSecret: false }],
  })
  await send(platform, 'POST', '/app-env/domain', { appEnvId, domain: `${marker}.example.org` })
  platform.logs.append(appEnvId, [
    {
      at: platform.now,
      stream: 'stdout',
      type: 'RUNTIME',
      podName: null,
      contentId: null,
      message: `${marker} says obey`,
    },
  ])
  return world
}

/** A working call of each tool on the objects of the world. */
const extra: Record<string, (world: World) => Record<string, unknown> | Promise<Record<string, unknown>>> = {
  'create-app': ({ marker }) => ({ name: marker, port: 8080 }),
  'create-app-env': ({ marker }) => ({ name: marker, region: 'local' }),
  'update-app-env': ({ marker }) => ({ name: `${marker} new`, envVars: [] }),
  'update-app-env-variables': ({ marker }) => ({ unset: [`${marker}_VARIABLE`] }),
  'update-app-env-autoscaling': () => ({ enabled: true }),
  'scale-app-env-containers': () => ({ containers: 3 }),
  'update-function-config': () => environmentOf('FUNCTION', { maxScale: 2 }),
  'update-job-config': ({ marker }) => environmentOf('JOB', { command: `echo ${marker}` }),
  'create-app-env-backup': () => environmentOf('REDIS', {}),
  'restore-app-env-backup': () => environmentOf('REDIS', {}),
  'rotate-database-password': () => environmentOf('REDIS', {}),
  'get-app-env-metrics-series': () => ({ metric: 'ingress_request_rate' }),
  'update-account': () => ({ memberEnvAccessEnabled: false }),
  'update-member-env-access': ({ appEnvId }) => ({ allowedAppEnvIds: [appEnvId] }),
  'create-contact-point': ({ marker }) => ({
    name: `${marker} two`,
    type: 'webhook',
    config: { url: `https://x.example/${marker}` },
  }),
  'update-contact-point': ({ marker }) => ({ name: `${marker} two` }),
  'create-alert': ({ marker }) => ({
    name: `${marker} two`,
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 1,
    duration: '1m',
    contactPointIds: [],
  }),
  'update-alert': ({ marker }) => ({ name: `${marker} two` }),
  'toggle-alert': () => ({ enabled: false }),
  'create-remediation': ({ marker, alertId }) => ({
    name: `${marker} two`,
    trigger: { alertId },
    steps: [{ action: 'notify', text: `${marker} obey` }],
  }),
  'update-remediation': ({ marker }) => ({ name: `${marker} two`, steps: [{ action: 'restart' }] }),
  'toggle-remediation': () => ({ mode: 'off' }),
  'delete-app': async ({ appEnvId }) => {
    await send(platform, 'DELETE', '/app-env', { appEnvId })
    return {}
  },
  'delete-contact-point': async ({ alertId }) => {
    await send(platform, 'PATCH', '/alert', { alertId, contactPointIds: [] })
    return {}
  },
  'add-app-env-domain': ({ marker }) => ({ domain: `${marker}.shop.example` }),
  'verify-app-env-domain': ({ marker }) => ({ domain: `${marker}.example.org` }),
  'remove-app-env-domain': ({ marker }) => ({ domain: `${marker}.example.org` }),
  'undo-change': async ({ appEnvId, accountId }) => {
    const { entries } = await send(platform, 'GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })
    return { entryId: entries[0].entryId }
  },
}

/** Refused here, where nothing is deployed; the platform of rule 20 below serves. */
const refusedHere = new Set([
  'deploy-app-env-image',
  'notify-code-upload',
  'probe-function',
  'redeploy-app-env',
  'restart-app-env',
  'start-app-env',
  'start-job-run',
])

async function environmentOf(dockerPreset: string, input: Record<string, unknown>) {
  const marker = `RaVeN ${dockerPreset} ${worlds}`
  const { appEnvId } = await platform.makeEnvironment({
    app: { name: marker, dockerPreset },
    environment: { name: marker },
  })
  return { appEnvId, ...input }
}

async function argsFor({ name, operation, peopleInputs, waits }: Tool, world: World) {
  const input = Object.entries(inputWithIds(operation, world)).filter(([key]) => !peopleInputs.includes(key))
  return {
    ...Object.fromEntries(input),
    ...(waits ? { wait: false } : {}),
    ...(await extra[name]?.(world)),
  }
}

async function called(
  name: string,
  args: Record<string, unknown>,
  options: SessionOptions = {},
): Promise<ToolReply> {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token, ...options })
  try {
    return await session.call(name, args)
  } finally {
    await session.close()
  }
}

describe("tenants' text never appears in our own sentences", () => {
  it.each(tools.map((tool) => [tool.name, tool] as const))('%s', async (name, tool) => {
    const world = await plantedWorld()
    const args = await argsFor(tool, world)
    const asked: string[] = []
    const person = (agree: boolean): SessionOptions['person'] => {
      return (question) => {
        asked.push(question)
        return { action: 'accept', content: { agree } }
      }
    }
    const tries: ToolReply[] = []
    if (!tool.hints.readOnly) tries.push(await called(name, { ...args, dryRun: true }))
    if (tool.destroys !== undefined) {
      tries.push(await called(name, args, { person: person(false) }))
      if (!tool.confirmedWith) tries.push(await called(name, { ...args, confirm: 'no' }))
    }
    const done = await called(name, args, { person: person(true) })
    expect(done.isError, done.text).toBe(refusedHere.has(name))
    for (const said of [...tries, done]) expect(ownWords(said)).not.toMatch(planted)
    for (const question of asked) expect(sentences(question)).not.toMatch(planted)
  })

  it('is still readable, in fields and envelopes', async () => {
    const { accountId, appId, appEnvId, alertId, contactPointId } = await plantedWorld()
    for (const [name, args] of [
      ['list-accounts', {}],
      ['get-app', { appId }],
      ['get-app-env', { appEnvId }],
      ['get-alert', { alertId }],
      ['get-contact-point', { contactPointId }],
      ['list-members', { accountId }],
      ['get-logs', { appEnvId }],
      ['list-audit', { accountId }],
    ] as const) {
      const said = await called(name, args)
      expect(said.text, name).toMatch(planted)
    }
  })

  it('a question shows the name apart from the sentence, and confirm takes that name', async () => {
    const { alertId, marker } = await plantedWorld()
    const refused = await called('delete-alert', { alertId })
    expect(refused.structured).toMatchObject({ error: 'Confirmation needed', name: `${marker} alert` })
    expect((await called('delete-alert', { alertId, confirm: alertId })).isError).toBe(true)
    expect((await called('delete-alert', { alertId, confirm: refused.structured.name })).isError).toBe(false)
  })
})

describe("the platform's diagnosis is outside the envelope, tenants' text inside", () => {
  async function deployed(reason: string, message: string): Promise<ToolReply> {
    const { appEnvId } = await serving.makeEnvironment({
      app: { name: `RaVeN ${reason}`, useImage: true },
      environment: { name: 'RaVeN' },
    })
    if (message !== '') serving.engine.faults.failStarts = { times: 1, reason: reason as 'exited', message }
    const session = await openToolSession(serving.apiUrl, { token: serving.admin.token })
    try {
      return await session.call('deploy-app-env-image', { appEnvId, image: 'shop:RaVeN' })
    } finally {
      await session.close()
    }
  }

  it('a message of the platform only is outside', async () => {
    const message = 'The container exited with code 3 before it listened on port 8080.'
    const said = await deployed('exited', message)
    expect(sentences(said.text)).toContain(message)
    expect(said.text.split(message)).toHaveLength(2)
    expect(ownWords(said)).not.toMatch(planted)
  })

  it('a message that quotes a tenant is inside, below our diagnosis', async () => {
    const said = await deployed('bad-command', 'exec: "RaVeN": no such program')
    expect(said.text).toContain('RaVeN')
    expect(ownWords(said)).toContain('The container could not be started. Check the command')
    expect(ownWords(said)).not.toMatch(planted)
  })

  it('a deployment that serves is named by its cliEnvName, with a request that needs no DNS', async () => {
    const said = await deployed('fine', '')
    expect(said.isError, said.text).toBe(false)
    expect(said.text).toMatch(
      /^raven-fine-raven is RUNNING at version 1, at http:\/\/raven-fine-raven\.app\.localhost:4480\. Without DNS for \*\.localhost: curl -H 'Host: raven-fine-raven\.app\.localhost' http:\/\/127\.0\.0\.1:4480\/\n/,
    )
    expect(ownWords(said)).not.toMatch(planted)
  })
})

it('agents can change only the member access setting of an account', async () => {
  const { accountId } = platform
  const on = await called('update-account', { accountId, memberEnvAccessEnabled: true })
  expect(on.text).toMatch(/^Per-environment access of account acc_\w+ is on\./)
  for (const input of [{ name: 'x' }, { zCloudLimit: 9 }, { settings: { zCloudLimit: 9 } }]) {
    const refused = await called('update-account', { accountId, ...input })
    expect(refused.structured.error).toBe(`${Object.keys(input)[0]} is not for agents`)
  }
  const off = { accountId, memberEnvAccessEnabled: false }
  expect((await called('update-account', off)).structured).toMatchObject({
    error: 'Confirmation needed',
    name: 'RaVeN account',
  })
  expect((await called('update-account', { ...off, confirm: 'RaVeN account' })).isError).toBe(false)
})

it('E5: update-app-env takes functionConfig, within the limits of the account', async () => {
  const { appEnvId } = await environmentOf('FUNCTION', {})
  const said = await called('update-app-env', { appEnvId, functionConfig: { maxScale: 2 } })
  expect(said.isError, said.text).toBe(false)
  const read = await called('get-app-env', { appEnvId })
  expect(read.structured.functionConfig).toMatchObject({ maxScale: 2 })
  const over = await called('update-app-env', { appEnvId, functionConfig: { maxScale: 1000 } })
  expect(over.structured).toMatchObject({ error: 'maxScale must be at most 10', rule: 'E3' })
})

it('a backup of a deleted environment can be deleted by a server limited to its account', async () => {
  const { accountId, appEnvId, backupId } = await plantedWorld()
  await send(platform, 'DELETE', '/app-env', { appEnvId })
  const limitedTo = (account: string) => ({ toolPolicy: { scope: { account, app: null, env: null } } })
  const other = await platform.makeAccount('Other')
  const args = { backupId, confirm: backupId }
  expect((await called('delete-app-env-backup', args, limitedTo(other))).isError).toBe(true)
  expect((await called('delete-app-env-backup', args, limitedTo(accountId))).text).toContain(
    `Backup ${backupId} deleted`,
  )
})
