import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restartAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { redeployAppEnv } from '../../../src/contract/deployments.ts'
import { DatabaseFixture, mysql, present } from '../../../testkit/databases/fixture.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const hasMariadb = await present('mariadb', 'mariadbd')

describe('MariaDB and RabbitMQ on the process engine', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  const fixture = new DatabaseFixture(installation)
  beforeAll(() => installation.start().then(() => {}))
  afterAll(() => installation.dispose())

  it.skipIf(!hasMariadb)(
    'MariaDB keeps its rows through restart, redeploy and kill -9 of the platform (skipped where no MariaDB is installed)',
    async (context) => {
      const appEnvId = await fixture.makeOrSkip(context, 'MYSQL')
      const rows = () => fixture.mysql(appEnvId, 'select group_concat(n order by n) from rows_')
      const again = (wanted: string) =>
        untilRead(
          () => rows().catch((error: Error) => error.message),
          (said) => said === wanted,
          wanted,
          180_000,
        )
      await fixture.mysql(appEnvId, 'create table rows_ (n int primary key); insert into rows_ values (1)')
      await installation.client().call(restartAppEnv, { appEnvId })
      await fixture.untilRunning(appEnvId)
      await again('1')
      await fixture.mysql(appEnvId, 'insert into rows_ values (2)')
      await installation.end('SIGKILL')
      await installation.start()
      await fixture.mysql(appEnvId, 'insert into rows_ values (3)')
      await installation.client().call(redeployAppEnv, { appEnvId })
      await fixture.untilRunning(appEnvId)
      await again('1,2,3')
      const url = new URL(await fixture.url(appEnvId))
      const { password } = url
      for (const user of ['root', '']) {
        await expect(
          mysql(Object.assign(new URL(url), { username: user, password: '' }).href, 'select 1'),
        ).rejects.toThrow(/denied/)
      }
      await expect(fixture.mysql(appEnvId, `select 1 from mysql.user`)).rejects.toThrow(/denied/)
      expect(installation.stderr).not.toContain(password)
    },
    240_000,
  )

  it('D1 RabbitMQ answers on AMQP, MQTT and management with its credentials only, and keeps durable messages (skipped where no RabbitMQ is installed)', async (context) => {
    const appEnvId = await fixture.makeOrSkip(context, 'RABBITMQ')
    const { hosts } = await installation.client().call(getAppEnv, { appEnvId, decrypt: true })
    const [amqp, mqtt, management] = hosts.map(({ url }) => new URL(url)) as [URL, URL, URL]
    expect(hosts.map(({ kind }) => kind)).toEqual(['amqp', 'mqtt', 'management'])
    expect(mqtt.protocol).toBe('mqtt:')
    const api = async (method: string, path: string, body?: unknown, password = amqp.password) => {
      const authorization = `Basic ${Buffer.from(`${amqp.username}:${password}`).toString('base64')}`
      const answer = await fetch(new URL(`/api/${path}`, management), {
        method,
        headers: { authorization, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      return {
        status: answer.status,
        json: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null,
      }
    }
    await untilRead(
      () => api('GET', 'overview').catch(() => ({ status: 0 })),
      ({ status }) => status === 200,
      'management',
      180_000,
    )
    expect((await api('GET', 'overview', undefined, 'wrong')).status).toBe(401)
    expect(await amqpLogin(amqp, amqp.password)).toBe('tune')
    expect(await amqpLogin(amqp, 'wrong')).toBe('refused')
    expect(await mqttLogin(mqtt, amqp.username, amqp.password)).toBe(0)
    expect(await mqttLogin(mqtt, amqp.username, 'wrong')).not.toBe(0)
    expect((await api('PUT', 'queues/%2F/orders', { durable: true })).status).toBe(201)
    const message = { routing_key: 'orders', payload: 'kept', payload_encoding: 'string' }
    const publish = { ...message, properties: { delivery_mode: 2 } }
    expect((await api('POST', 'exchanges/%2F/amq.default/publish', publish)).json).toEqual({ routed: true })
    await installation.client().call(restartAppEnv, { appEnvId })
    await fixture.untilRunning(appEnvId)
    const get = { count: 1, ackmode: 'ack_requeue_false', encoding: 'auto' }
    const got = await untilRead(
      () => api('POST', 'queues/%2F/orders/get', get).catch(() => ({ status: 0, json: null })),
      ({ status }) => status === 200,
      'the queue',
      180_000,
    )
    expect(got.json).toMatchObject([{ payload: 'kept' }])
  })
})

/** Speaks until the server answers twice: `tune` when it takes the login, else `refused`. */
function amqpLogin({ hostname, port, username }: URL, password: string): Promise<'tune' | 'refused'> {
  const method = (classId: number, methodId: number, ...fields: Buffer[]) => {
    const payload = Buffer.concat([Buffer.from([0, classId, 0, methodId]), ...fields])
    const head = Buffer.alloc(7)
    head[0] = 1
    head.writeUInt32BE(payload.length, 3)
    return Buffer.concat([head, payload, Buffer.from([0xce])])
  }
  const short = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
  const long = (text: string) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(text.length)
    return Buffer.concat([length, Buffer.from(text)])
  }
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname, port: Number(port) }, () => socket.write('AMQP\0\0\x09\x01'))
    socket.once('error', () => resolve('refused'))
    socket.once('close', () => resolve('refused'))
    let started = false
    socket.on('data', (bytes) => {
      if (started) {
        // connection.tune is method 30 of class 10; connection.close is 50.
        resolve(bytes[10] === 30 ? 'tune' : 'refused')
        socket.destroy()
        return
      }
      started = true
      const response = long(`\0${username}\0${password}`)
      socket.write(method(10, 11, Buffer.alloc(4), short('PLAIN'), response, short('en_US')))
    })
  })
}

/** The return code of CONNACK: 0 when the login is taken; 255 when the server hangs up. */
function mqttLogin({ port }: URL, username: string, password: string): Promise<number> {
  const text = (value: string) =>
    Buffer.concat([Buffer.from([value.length >> 8, value.length & 255]), Buffer.from(value)])
  const head = Buffer.concat([text('MQTT'), Buffer.from([4, 0xc2, 0, 60])])
  const body = Buffer.concat([head, text('test'), text(username), text(password)])
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port: Number(port) }, () =>
      socket.write(Buffer.concat([Buffer.from([0x10, body.length]), body])),
    )
    socket.once('error', () => resolve(255))
    socket.once('close', () => resolve(255))
    socket.once('data', (bytes) => {
      resolve(bytes[3] ?? 255)
      socket.destroy()
    })
  })
}
