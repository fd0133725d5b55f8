import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { operations } from '../../../src/contract/index.ts'
import { operation } from '../../../src/contract/operation.ts'
import { base, type ScriptedServer, send, startScripted } from '../../../testkit/api/scripted-server.ts'
import { until } from '../../../testkit/until.ts'

let on: ScriptedServer
afterEach(() => on.server.close())

describe('start and stop', () => {
  it('strangers who connect and send nothing leave room for the own files of the server', async () => {
    on = await startScripted({ mostConnections: 20 })
    const sockets = Array.from({ length: 60 }, () => connect(on.port, '127.0.0.1').on('error', () => {}))
    await until(() => sockets.filter(({ destroyed }) => destroyed).length === 40)
    for (const socket of sockets) socket.destroy()
    for (let status = 0; status !== 200; ) {
      status = await send(on, 'GET', '/healthz').then(
        (answer) => answer.status,
        () => 0,
      )
    }
  })

  it('a taken port is an error with a remedy', async () => {
    on = await startScripted()
    const port = on.port
    const { createApiServer } = await import('../../../src/api/server.ts')
    const second = createApiServer({
      operations: [],
      runner: { run: async () => ({ status: 200, body: '' }), authenticate: async () => 'usr_1' },
      uploads: { receive: async () => {} },
      readiness: async () => ({ ready: true, problems: [] }),
      metricsText: () => '',
      host: '127.0.0.1',
      log: (await import('pino')).default({ level: 'silent' }),
    })
    await expect(second.listen(port)).rejects.toMatchObject({
      name: 'AppError',
      message: `Port ${port} of 127.0.0.1 is already in use`,
      details: expect.stringContaining('LONGSHORE_PORT'),
    })
    await second.close()
  })

  it.each([
    ['localhost', '127.0.0.1'],
    ['::1', '[::1]'],
  ])('host %s listens and answers there', async (host, shown) => {
    on = await startScripted({ host })
    expect(on.url).toBe(`http://${shown}:${on.port}`)
    expect((await send(on, 'GET', '/healthz')).status).toBe(200)
  })

  it('an address of another machine is an error with a remedy', async () => {
    on = await startScripted()
    await expect(startScripted({ host: '203.0.113.7' })).rejects.toMatchObject({
      message: '203.0.113.7 is not an address of this machine',
    })
  })

  it('close lets a request in flight finish, closes idle connections and accepts no new ones', async () => {
    on = await startScripted()
    let release = () => {}
    on.answer.run = () =>
      new Promise((resolve) => {
        release = () => resolve({ status: 200, body: '{"done":true}' })
      })
    const idle = connect(on.port, '127.0.0.1')
    const idleClosed = new Promise((resolve) => idle.on('close', resolve).on('error', () => {}))
    idle.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await new Promise((resolve) => idle.once('data', resolve))
    const inFlight = send(on, 'GET', `${base}/accounts`)
    await until(() => on.calls.length === 1)
    const closed = on.server.close()
    await idleClosed
    await until(() => on.server.address() === null)
    await expect(fetch(`${on.url}/healthz`)).rejects.toThrow()
    release()
    expect((await inFlight).json).toEqual({ done: true })
    await closed
  })

  it('close does not wait longer than its grace', async () => {
    on = await startScripted({ closeGraceMs: 30 })
    on.answer.run = () => new Promise(() => {})
    const inFlight = send(on, 'GET', `${base}/accounts`).catch(() => 'cut')
    await until(() => on.calls.length === 1)
    await on.server.close()
    expect(await inFlight).toBe('cut')
  })

  it('a row that is loose, duplicate or without policy fails the start', async () => {
    on = await startScripted()
    const row = operations[0]!
    const loose = operation({ ...row, id: 'loose', path: '/loose', input: z.object({}) })
    const lawless = { ...row, id: 'lawless', path: '/lawless', policy: undefined as never }
    await expect(startScripted({ operations: [loose] })).rejects.toThrow('loose')
    await expect(startScripted({ operations: [lawless] })).rejects.toThrow('policy')
    await expect(startScripted({ operations: [row, { ...row, id: 'twice' }] })).rejects.toThrow('twice')
  })
})

describe('lists in the query', () => {
  const list = operation({
    id: 'list',
    method: 'GET',
    path: '/list',
    summary: 'For the test',
    policy: { on: 'installation' },
    input: z.strictObject({
      ids: z.array(z.number()).max(3).optional(),
      names: z.array(z.string()).default([]),
    }),
    output: z.object({}),
  })
  it.each([
    ['ids=1,2&ids=3', { ids: [1, 2, 3], names: [] }],
    ['ids=&names=a', { ids: [], names: ['a'] }],
  ])('?%s is read', async (query, input) => {
    on = await startScripted({ operations: [list] })
    expect((await send(on, 'GET', `${base}/list?${query}`)).status).toBe(200)
    expect(on.calls[0]!.input).toEqual(input)
    const refused = await send(on, 'GET', `${base}/list?ids=1,x`)
    expect(refused.json.details).toBe('ids[1]: must be a number')
    expect((await send(on, 'GET', `${base}/list?ids=1,2,3,4`)).json.details).toBe(
      'ids: must have at most 3 entries',
    )
  })
})
