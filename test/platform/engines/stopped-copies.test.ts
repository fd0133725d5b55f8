import { once } from 'node:events'
import net from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import type { DatabaseSpec } from '../../../src/engines/engine.ts'
import { runDatabaseTool } from '../../../src/engines/process/databases/run-tool.ts'
import { RedisConnection } from '../../../src/engines/redis/connection.ts'

/** A server that accepts the password and nothing more; `left` is called when a client is gone. */
async function redisServer(left = () => {}): Promise<DatabaseSpec> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {}).once('close', left)
    socket.once('data', () => socket.write('+OK\r\n'))
  })
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  return { password: 'secret', ports: [{ hostPort: port }] } as unknown as DatabaseSpec
}

it('Redis: a stop while the copy is read, before anything is sent, ends the restore', async () => {
  const stop = new AbortController()
  let left = () => {}
  const isGone = new Promise<void>((resolve) => {
    left = resolve
  })
  const redis = await RedisConnection.open(await redisServer(left), stop.signal)
  stop.abort()
  await isGone
  await expect(redis.ask('FLUSHALL')).rejects.toThrow('ended too early')
  await expect(RedisConnection.open(await redisServer(), stop.signal)).rejects.toThrow('aborted')
})

it('process engine: a stop ends the tool with the programs that its script has started', async () => {
  const stop = new AbortController()
  const output = new PassThrough()
  const tool = { script: 'echo begun; sleep 600 | cat', env: {} }
  const around = { path: process.env.PATH ?? '', signal: stop.signal }
  const running = runDatabaseTool(tool as never, {} as DatabaseSpec, { output }, around)
  await once(output, 'data')
  stop.abort(new Error('stopped'))
  await expect(running).rejects.toThrow('stopped')
})
