import { expect } from 'vitest'
import type { Operation } from '../../src/contract/operation.ts'
import type { Receiver } from '../alerting/receiver.ts'
import type { Json } from '../api/scenario-call.ts'
import { ofId, type SecretSweep } from './sweep.ts'

export async function refuseVariables(sweep: SecretSweep, appEnvId: unknown): Promise<void> {
  const value = sweep.secrets.plant('value that is refused')
  const row = ofId('update-app-env-variables')
  const wrong = [
    { name: 'not a name', value },
    { name: 'A', value: { value } },
    { name: 'A', value: [value] },
    { name: 'A', value: value.repeat(2_000) },
    { name: 'A', value: `${value}\u0000` },
    { name: 'A', value: `${value}\ud800` },
    { name: 'A', value, type: value },
    { name: 'A', value, isSecret: value },
    { name: 'A', value, more: value },
    value,
  ]
  for (const one of wrong) await refused(sweep, row, { appEnvId, set: [one] })
  await refused(sweep, row, {
    appEnvId,
    set: [
      { name: 'A', value },
      { name: 'A', value },
    ],
  })
  await refused(sweep, row, { appEnvId, set: value })
  await refused(sweep, row, { appEnvId: 'env_unknown', set: [{ name: 'A', value }] })
  await refused(sweep, ofId('update-app-env'), {
    appEnvId,
    envVars: [
      { name: 'A', value },
      { name: 'A', value },
    ],
  })
  await refused(sweep, ofId('update-app-env'), { appEnvId, zClouds: value, envVars: [{ name: 'A', value }] })
  await refused(sweep, ofId('update-app-env-variables'), {
    appEnvId,
    set: [{ name: 'A', value }],
    expectedRevision: 1,
  })
}

export async function refuseContactPoints(sweep: SecretSweep, contactPointId: string): Promise<void> {
  const { accountId } = sweep.platform
  const value = sweep.secrets.plant('setting that is refused', (core) => core)
  const wrong: [string, Json][] = [
    ['webhook', { url: value }],
    ['webhook', { url: `ftp://${value}/` }],
    ['webhook', { url: `https://user:${value}@example.com/` }],
    ['webhook', { url: `https://exa mple.com/${value}` }],
    ['webhook', { url: `https://example.com/${value.repeat(200)}` }],
    ['webhook', { url: 'https://example.com/', password: { value } }],
    ['webhook', { url: 'https://example.com/', password: value.repeat(100) }],
    ['webhook', { url: 'https://example.com/', httpMethod: value }],
    ['webhook', { url: 'https://example.com/', integrationKey: value }],
    ['webhook', { url: 'https://example.com/', more: value }],
    ['chat', { webhookUrl: value }],
    ['chat', { webhookUrl: 'https://example.com/', mentionUsers: [`x\n${value}`] }],
    ['incident', { integrationKey: `${value} ` }],
    ['incident', { integrationKey: value, severity: value }],
    ['email', { addresses: [value] }],
    ['email', { addresses: [`${value}@example.com\r\nBcc: x@example.com`] }],
    [value, { url: value }],
  ]
  for (const [type, config] of wrong) {
    await refused(sweep, ofId('create-contact-point'), { accountId, name: 'wrong', type, config })
    await refused(sweep, ofId('update-contact-point'), { contactPointId, config })
  }
  await refused(sweep, ofId('update-contact-point'), {
    contactPointId,
    config: { url: `https://example.com/${value}` },
  })
}

/** Requests that are rejected before they are understood: bad tokens, addresses, bodies. */
export async function refuseBrokenRequests(sweep: SecretSweep): Promise<void> {
  const value = sweep.secrets.plant('secret in a broken request', (core) => core)
  const url = `${sweep.platform.apiUrl}/api/public/v1`
  const { token } = sweep.platform.admin
  const json = { 'content-type': 'application/json' }
  const send = async (path: string, init: RequestInit) => {
    const answer = await fetch(`${url}${path}`, init)
    const text = `${JSON.stringify(Object.fromEntries(answer.headers))}\n${await answer.text()}`
    expect(answer.status, path).toBeGreaterThanOrEqual(400)
    sweep.outputs.push({ where: `broken request ${path.replace(value, '…')}`, text })
  }
  for (const authorization of [value, `Bearer ${value}`, `Basic ${btoa(`user:${value}`)}`, `lsu_${value}`]) {
    await send('/user', { headers: { authorization } })
  }
  await send(`/user?token=${value}`, { headers: { authorization: token } })
  await send(`/nowhere/${value}`, { headers: { authorization: token } })
  await send(`/contact-point?contactPointId=${value}%zz`, { headers: { authorization: token } })
  for (const body of [
    `{"config":{"password":"${value}"`,
    `[${JSON.stringify(value)}]`,
    value,
    `{"a":"${value}",}`,
  ]) {
    await send('/contact-point', { method: 'POST', headers: { ...json, authorization: token }, body })
  }
  await send('/contact-point', {
    method: 'POST',
    headers: { authorization: token, 'content-type': value },
    body: value,
  })
  await send('/contact-point', {
    method: 'PUT',
    headers: { ...json, authorization: token },
    body: `"${value}"`,
  })
  await send('/user/token', {
    method: 'POST',
    headers: { ...json, authorization: token, 'idempotency-key': `${value}${'x'.repeat(300)}` },
    body: '{}',
  })
  for (const header of ['dry-run', 'longshore-surface']) {
    await send('/app', {
      method: 'POST',
      headers: { ...json, authorization: token, [header]: value },
      body: '{}',
    })
  }
}

/** Rejected over REST and by the tool, without repeating the input. */
async function refused(sweep: SecretSweep, row: Operation, input: Json): Promise<void> {
  const { status } = await sweep.rest(row, input, sweep.platform.admin.token)
  expect([400, 404, 409, 413], `${row.id} ${JSON.stringify(Object.keys(input))}`).toContain(status)
  const reply = await sweep.tool(row, input).catch((error: Error) => {
    sweep.outputs.push({ where: `tool ${row.id} threw`, text: error.message })
    return { isError: true }
  })
  expect(reply.isError).toBe(true)
}

/** Receivers that echo the request, redirect it, hang up, or do not exist. */
export async function failNotifications(sweep: SecretSweep, receiver: Receiver): Promise<void> {
  const { accountId, admin } = sweep.platform
  const value = sweep.secrets.plant('secret of a receiver that fails', (core) => core)
  const make = async (config: Json) =>
    (
      await sweep.rest(
        ofId('create-contact-point'),
        { accountId, name: 'fails', type: 'webhook', config },
        admin.token,
      )
    ).json.contactPoint.contactPointId as string
  const here = await make({ url: receiver.url(`/${value}`), username: 'x', password: value })
  const answers: Receiver['answer'][] = [
    (got) => ({ status: 500, body: JSON.stringify(got), headers: { 'x-echo': value } }),
    () => ({ status: 302, headers: { location: `http://127.0.0.1:1/${value}` } }),
    () => 'reset',
  ]
  for (const answer of answers) {
    receiver.answer = answer
    await sweep.rest(ofId('test-contact-point'), { contactPointId: here }, admin.token)
  }
  for (const url of [
    `http://${value}.invalid/`,
    `http://127.0.0.1:1/${value}`,
    `https://127.0.0.1:${receiver.port}/${value}`,
  ]) {
    const there = await make({ url })
    await sweep.tool(ofId('test-contact-point'), { contactPointId: there })
  }
}
