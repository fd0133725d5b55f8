import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { isPortHeld } from '../../../../src/engines/process/supervisor/proc-tree.ts'
import { gone, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'
import { messagesOf } from '../../../../testkit/engines/process-installation.ts'
import { until } from '../../../../testkit/engines/suite.ts'
import { freePort } from '../../../../testkit/free-port.ts'

const fixture = new ProcessFixture('test')

describe('a container of the process engine', () => {
  it('stops with its whole tree', async () => {
    const { image } = await fixture.shell(
      'sh -c "trap \'\' TERM; echo deaf $$; sleep 500" &',
      'trap "exit 0" TERM',
      'wait',
    )
    const spec = fixture.installation.spec(image, { port: null })
    await fixture.engine.apply(spec)
    const deaf = await fixture.printedPid(spec.name, 'deaf ')
    await fixture.engine.stop(spec.name, 5)
    expect(await fixture.find(spec.name)).toMatchObject({ state: 'exited', exitCode: 0 })
    await gone(deaf)
  })

  it('names the signal that ended it by its number', async () => {
    const { image } = await fixture.shell('kill -SEGV $$')
    const spec = fixture.installation.spec(image)
    await fixture.engine.apply(spec)
    expect(await fixture.exited(spec.name)).toMatchObject({ exitCode: 139 })
  })

  const listeningOn = (port: string, host: string) =>
    fixture.installation.build(fixture.engine, {
      Dockerfile: 'FROM node\nCOPY server.js .\nCMD ["node", "server.js"]\n',
      'server.js': `require("http").createServer((q, s) => s.end("here")).listen(${port}, "${host}", function () { console.log("at " + this.address().port) })`,
    })

  it('is not ended for pages that its processes share, each of which counts once', async () => {
    // Four programs of one runtime: together they are resident with far more than they use.
    const ticks = 'let at = 0; setInterval(() => console.log("tick", ++at), 1000)'
    const { image } = await fixture.shell(
      'for one in 1 2 3; do sleep 500 & node -e "setInterval(() => {}, 1000)" & done',
      `exec node -e '${ticks}'`,
    )
    const spec = fixture.installation.spec(image, { memoryMb: 100, port: null })
    await fixture.engine.apply(spec)
    // The supervisor looks every second, so by then it has looked more than once.
    await until(
      'it lived on',
      async () => (await messagesOf(fixture.engine, spec.name)).includes('tick 3') || null,
    )
    expect((await fixture.engine.usage(spec.name))!.memoryMb).toBeGreaterThan(110)
    expect(await fixture.find(spec.name)).toMatchObject({ state: 'running' })
  })

  it('is reached on the port its app declares when it ignores PORT, as with a network of its own', async () => {
    const declared = await freePort()
    const { image } = await listeningOn(String(declared), '0.0.0.0')
    const spec = fixture.installation.spec(image, { port: declared })
    await fixture.engine.apply(spec)
    const container = await until('its address is corrected', async () => {
      const found = await fixture.find(spec.name)
      return found?.address?.port === declared ? found : null
    })
    expect(await (await fetch(`http://127.0.0.1:${container.address!.port}/`)).text()).toBe('here')
  })

  it('is reached neither on any other port nor on loopback, and shows where it listens', async () => {
    for (const [bind, host] of [
      ['0', '0.0.0.0'],
      ['process.env.PORT', '127.0.0.1'],
      ['process.env.PORT', '::1'],
    ] as const) {
      const { image } = await listeningOn(bind, host)
      const spec = fixture.installation.spec(image)
      const { address } = await fixture.engine.apply(spec)
      const port = await fixture.printedNumber(spec.name, 'at ')
      const listeners = () => fixture.engine.listeners!(spec.name)
      await until('its socket', async () => (await listeners())?.sockets.length || null)
      expect(await listeners()).toEqual({ sockets: [{ address: host, port }] })
      expect((await fixture.find(spec.name))?.address).toEqual(address)
      await expect(fetch(`http://${address!.host}:${address!.port}/`)).rejects.toThrow()
      await fixture.engine.remove(spec.name)
      expect(await fixture.engine.listeners!(spec.name)).toBeNull()
    }
  })

  it('shows only sockets of the processes that it started', async () => {
    const { image } = await fixture.shell(
      `node -e 'require("http").createServer().listen(process.env.PORT, "0.0.0.0", () => console.log("up"))' &`,
      'wait',
    )
    const spec = fixture.installation.spec(image)
    const { address } = await fixture.engine.apply(spec)
    await until('up', async () => (await messagesOf(fixture.engine, spec.name)).includes('up') || null)
    expect(await fixture.engine.listeners!(spec.name)).toEqual({
      sockets: [{ address: '0.0.0.0', port: address!.port }],
    })
  })

  it('starts again on another port when its own was taken meanwhile', async () => {
    // The first try waits until somebody has its port, and then fails as a server does that finds it taken.
    const { image } = await fixture.installation.build(fixture.engine, {
      Dockerfile: 'FROM node\nCOPY . .\nCMD ["node", "server.js"]\n',
      'server.js': `
        const fs = require('node:fs'), http = require('node:http')
        const serve = () => http.createServer((q, s) => s.end('ok')).listen(process.env.PORT, () => console.log('up'))
        if (fs.existsSync('taken')) serve()
        else {
          fs.writeFileSync('taken', '')
          const look = () => http.get({ port: process.env.PORT }, () => process.exit(1)).on('error', () => setTimeout(look, 5))
          look()
        }`,
    })
    const spec = fixture.installation.spec(image)
    const first = await fixture.engine.apply(spec)
    const thief = http.createServer((_, response) => response.end('thief'))
    await new Promise<void>((resolve) => thief.listen(first.address!.port, resolve))
    try {
      await until(
        'the second try is up',
        async () => (await messagesOf(fixture.engine, spec.name)).includes('up') || null,
      )
      const now = await fixture.find(spec.name)
      expect(now?.address?.port).not.toBe(first.address?.port)
      expect(await (await fetch(`http://127.0.0.1:${now!.address!.port}/`)).text()).toBe('ok')
    } finally {
      thief.closeAllConnections()
      thief.close()
    }
  })
})

describe('whether a port is held', () => {
  it('is seen without opening a socket: by who listens and who is connected from it', async () => {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as net.AddressInfo
    expect(isPortHeld(port)).toBe(true)
    const client = net.connect(port, '127.0.0.1')
    await new Promise<void>((resolve) => server.once('connection', () => resolve()))
    expect(isPortHeld(client.localPort!)).toBe(true)
    client.destroy()
    await new Promise((resolve) => server.close(resolve))
    await until('the port is free', () => !isPortHeld(port) || null)
  })
})

describe('a data directory inside a project of modules', () => {
  it('does not make modules of the programs that run in it', async () => {
    await writeFile(path.join(fixture.installation.home, 'package.json'), '{"type":"module"}')
    const { image } = await fixture.installation.build(fixture.engine, {
      Dockerfile: 'FROM node\nCOPY server.js .\nCMD ["node", "server.js"]\n',
      'server.js': 'console.log("is", typeof require)',
    })
    const spec = fixture.installation.spec(image, { port: null })
    await fixture.engine.apply(spec)
    expect(await fixture.exited(spec.name)).toMatchObject({ exitCode: 0 })
    expect(await messagesOf(fixture.engine, spec.name)).toEqual(['is function'])
  })
})
