import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Engine, type EngineContainer, EngineFailure } from '../../../../src/engines/engine.ts'
import { engineFiles } from '../../../../src/engines/process/engine-files.ts'
import { SupervisorClient } from '../../../../src/engines/process/supervisor/client.ts'
import {
  ContainerLogReader,
  ContainerLogWriter,
} from '../../../../src/engines/process/supervisor/container-log.ts'
import { isPortHeld, processIdentity } from '../../../../src/engines/process/supervisor/proc-tree.ts'
import { createLog } from '../../../../src/log.ts'
import { sampleDockerfile, sampleServerJs } from '../../../../testkit/builds/sample-sources.ts'
import { messagesOf, ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { until } from '../../../../testkit/engines/suite.ts'
import { bundledSupervisorEntry } from '../../../../testkit/engines/supervisor-entry.ts'
import { freePort } from '../../../../testkit/free-port.ts'

let installation: ProcessInstallation
let engine: Engine
beforeEach(async () => {
  installation = await ProcessInstallation.create()
  engine = await installation.open()
})
afterEach(() => installation.destroy())

const sample = () =>
  installation.build(engine, { Dockerfile: sampleDockerfile('node'), 'server.js': sampleServerJs })

/** An image that runs this shell text. */
const shell = (...text: string[]) =>
  installation.build(engine, {
    Dockerfile: 'FROM alpine\nWORKDIR /app\nCOPY main.sh .\nCMD ["sh", "main.sh"]\n',
    'main.sh': text.join('\n'),
  })

const find = async (name: string): Promise<EngineContainer | null> =>
  (await engine.list()).find((container) => container.name === name) ?? null

const exited = (name: string) =>
  until(`${name} ended`, async () => {
    const found = await find(name)
    return found?.state === 'exited' ? found : null
  })

/** The number a container printed, once it did. */
const printedPid = (name: string, label: string) =>
  until(`${name} prints ${label}`, async () => {
    const line = (await messagesOf(engine, name)).find((message) => message.startsWith(label))
    return line ? Number(line.slice(label.length)) : null
  })

const gone = (pid: number) => until(`process ${pid} is gone`, () => processIdentity(pid) === null || null)

/** The supervisors of this data directory, by their command line. */
function supervisorPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--home\0${installation.home}\0`)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** A second connection to the installation's supervisor. */
const ownClient = (silenceMs: number) =>
  new SupervisorClient({
    files: engineFiles(installation.home),
    home: installation.home,
    entry: bundledSupervisorEntry(),
    log: createLog('test', 'silent'),
    onChange: () => {},
    silenceMs,
  })

describe('the supervisor', () => {
  it('is one for an installation, however many engines open at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => installation.open()))
    await until('the late ones have left', () => supervisorPids().length === 1 || null)
  })

  it('killed with -9: a new one ends its orphans, also those that left the group, and says exited', async () => {
    const { image } = await shell(
      'sh -c "sleep 500" &',
      'echo child $!',
      "setsid sh -c 'echo strayed $$; exec sleep 500' &",
      'wait',
    )
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    const child = await printedPid(spec.name, 'child ')
    const strayed = await printedPid(spec.name, 'strayed ')
    const hints: string[] = []
    engine.watch((name) => hints.push(name))
    const [supervisor] = supervisorPids()
    process.kill(supervisor!, 'SIGKILL')
    await until('a hint comes without any call', () => hints.includes(spec.name) || null)
    expect(await find(spec.name)).toMatchObject({
      state: 'exited',
      exitCode: 137,
      finishedAt: expect.stringMatching(/Z$/),
    })
    expect(supervisorPids()).not.toContain(supervisor)
    await gone(child)
    await gone(strayed)
    expect(await messagesOf(engine, spec.name)).toContain(`child ${child}`)
  })

  it('killed again and again: every call comes back, and one supervisor is left', async () => {
    for (let round = 0; round < 6; round++) {
      const pids = supervisorPids()
      await Promise.all([
        ...pids.map(async (pid) => process.kill(pid, 'SIGKILL')).map((kill) => kill.catch(() => {})),
        ...Array.from({ length: 4 }, () => engine.list()),
      ])
      expect(await engine.list()).toEqual([])
    }
    await until('one is left', () => supervisorPids().length === 1 || null)
  })

  it('is found again after its socket was deleted, as cleaners of temporary folders do', async () => {
    const spec = installation.spec((await shell('exec sleep 500')).image, { port: null })
    await engine.apply(spec)
    const pids = supervisorPids()
    await rm(engineFiles(installation.home).socket)
    const other = new SupervisorClient({
      files: engineFiles(installation.home),
      home: installation.home,
      entry: bundledSupervisorEntry(),
      log: createLog('other', 'silent'),
      onChange: () => {},
    })
    expect(await other.ask<{ name: string }[]>({ verb: 'list' })).toMatchObject([{ name: spec.name }])
    await other.close()
    expect(await find(spec.name)).toMatchObject({ state: 'running' })
    await until('the late ones have left', () => supervisorPids().length === 1 || null)
    expect(supervisorPids()).toEqual(pids)
    await engine.remove(spec.name)
  })

  it('never kills a process that only has the number of an old container', async () => {
    const bystander = process.pid
    const dir = path.join(engineFiles(installation.home).containers, 'old-one')
    await mkdir(dir)
    const record = { name: 'old-one', podId: 'p', appEnvId: 'e', memoryMb: 64 }
    const rest = {
      state: 'running',
      pid: bystander,
      pidIdentity: 'another-boot:1',
      startedAt: new Date().toISOString(),
    }
    await writeFile(
      path.join(dir, 'record.json'),
      JSON.stringify({ ...record, ...rest, port: null, seenAt: null }),
    )
    process.kill(supervisorPids()[0]!, 'SIGKILL')
    // Its end was not seen before the machine restarted: the time stays empty, because an invented one would be billed.
    expect(await exited('old-one')).toMatchObject({ exitCode: 137, finishedAt: null })
    expect(processIdentity(bystander)).not.toBeNull()
  })

  it('of a copied data directory leaves the containers of the original alone', async () => {
    const { image } = await shell('echo main $$', 'exec sleep 500')
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    const pid = await printedPid(spec.name, 'main ')
    const copy = `${installation.home}-copy`
    // Sockets cannot be copied.
    const filter = (file: string) => !lstatSync(file).isSocket()
    await cp(installation.home, copy, { recursive: true, filter })
    const files = engineFiles(copy)
    const [entry, log] = [bundledSupervisorEntry(), createLog('copy', 'silent')]
    const client = new SupervisorClient({ files, home: copy, entry, log, onChange: () => {} })
    try {
      const listed = await client.ask<{ name: string }[]>({ verb: 'list' })
      expect(listed).toMatchObject([{ name: spec.name, state: 'exited', finishedAt: null }])
      expect(processIdentity(pid)).not.toBeNull()
      expect(await find(spec.name)).toMatchObject({ state: 'running' })
    } finally {
      await client.close()
      // Its supervisor exits when its data directory is gone.
      await rm(copy, { recursive: true, force: true })
    }
    await engine.remove(spec.name)
  })

  it('makes up no end for what died while no supervisor saw it', async () => {
    const { image } = await shell('echo main $$', 'exec sleep 500')
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    const pid = await printedPid(spec.name, 'main ')
    const [supervisor] = supervisorPids()
    // Stopped first, so that it does not see its container end.
    process.kill(supervisor!, 'SIGSTOP')
    process.kill(pid, 'SIGKILL')
    process.kill(supervisor!, 'SIGKILL')
    expect(await exited(spec.name)).toMatchObject({ exitCode: 137, finishedAt: null })
  })

  it('ends everything and exits when the data directory is deleted', async () => {
    const { image } = await sample()
    const spec = installation.spec(image)
    await engine.apply(spec)
    const { pid } = JSON.parse(
      await readFile(path.join(engineFiles(installation.home).containers, spec.name, 'record.json'), 'utf8'),
    )
    const [supervisor] = supervisorPids()
    await installation.destroy()
    await gone(pid)
    await gone(supervisor!)
  })

  it('works in a data directory too deep for a socket path, and keeps its socket private', async () => {
    const deep = await ProcessInstallation.create('deep/'.repeat(40))
    const deepEngine = await deep.open()
    expect(await deepEngine.list()).toEqual([])
    const { socket } = engineFiles(deep.home)
    expect(Buffer.byteLength(socket)).toBeLessThan(104)
    expect((await stat(path.dirname(socket))).mode & 0o777).toBe(0o700)
    expect(statSync(path.dirname(engineFiles(installation.home).socket)).mode & 0o777).toBe(0o700)
    await deep.destroy()
  })

  it('says so when it cannot write its folder', async () => {
    const blocked = await ProcessInstallation.create('file')
    await writeFile(blocked.home, 'not a folder')
    await expect(blocked.open()).rejects.toMatchObject({ kind: 'unavailable' })
    await blocked.destroy()
  })

  it('frozen: a call ends with the remedy in its words, and all goes on when it thaws', async () => {
    const [pid] = supervisorPids()
    const client = ownClient(1_500)
    await client.open()
    const late = ownClient(1_500)
    process.kill(pid!, 'SIGSTOP')
    try {
      const refusal = { kind: 'unavailable', details: expect.stringContaining(`kill -CONT ${pid}`) }
      await expect(client.ask({ verb: 'list' })).rejects.toMatchObject(refusal)
      // One that connects meanwhile gets a connection from the kernel, and no hello.
      await expect(late.open()).rejects.toMatchObject({ kind: 'unavailable' })
    } finally {
      process.kill(pid!, 'SIGCONT')
    }
    await until('it answers again', () => client.ask({ verb: 'list' }).catch(() => null))
    await until('a new connection too', () =>
      late.open().then(
        () => true,
        () => null,
      ),
    )
    await client.close()
    await late.close()
    expect(supervisorPids()).toEqual([pid])
  })

  it('lets a call take longer than it may be silent', async () => {
    const image = await shell("trap '' TERM", 'echo pid $$', 'while :; do sleep 0.1; done')
    const spec = installation.spec(image.image)
    await engine.apply(spec)
    await printedPid(spec.name, 'pid ')
    const client = ownClient(2_000)
    await client.open()
    await client.ask({ verb: 'stop', name: spec.name, graceSeconds: 5 })
    expect((await find(spec.name))?.state).toBe('exited')
    await client.close()
  })

  it('stays small', async () => {
    const { image } = await sample()
    for (let round = 0; round < 5; round++) {
      const spec = installation.spec(image)
      await engine.apply(spec)
      await engine.remove(spec.name)
    }
    const status = readFileSync(`/proc/${supervisorPids()[0]}/status`, 'utf8')
    expect(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024).toBeLessThan(60)
  })
})

describe('a container of the process engine', () => {
  it('stops with its whole tree', async () => {
    const { image } = await shell(
      'sh -c "trap \'\' TERM; echo deaf $$; sleep 500" &',
      'trap "exit 0" TERM',
      'wait',
    )
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    const deaf = await printedPid(spec.name, 'deaf ')
    await engine.stop(spec.name, 5)
    expect(await find(spec.name)).toMatchObject({ state: 'exited', exitCode: 0 })
    await gone(deaf)
  })

  it('names the signal that ended it by its number', async () => {
    const { image } = await shell('kill -SEGV $$')
    const spec = installation.spec(image)
    await engine.apply(spec)
    expect(await exited(spec.name)).toMatchObject({ exitCode: 139 })
  })

  const listeningOn = (port: string, host: string) =>
    installation.build(engine, {
      Dockerfile: 'FROM node\nCOPY server.js .\nCMD ["node", "server.js"]\n',
      'server.js': `require("http").createServer((q, s) => s.end("here")).listen(${port}, "${host}", function () { console.log("at " + this.address().port) })`,
    })

  it('is not ended for pages that its processes share, each of which counts once', async () => {
    // Four programs of one runtime: together they are resident with far more than they use.
    const ticks = 'let at = 0; setInterval(() => console.log("tick", ++at), 1000)'
    const { image } = await shell(
      'for one in 1 2 3; do sleep 500 & node -e "setInterval(() => {}, 1000)" & done',
      `exec node -e '${ticks}'`,
    )
    const spec = installation.spec(image, { memoryMb: 100, port: null })
    await engine.apply(spec)
    // The supervisor looks every second, so by then it has looked more than once.
    await until('it lived on', async () => (await messagesOf(engine, spec.name)).includes('tick 3') || null)
    expect((await engine.usage(spec.name))!.memoryMb).toBeGreaterThan(110)
    expect(await find(spec.name)).toMatchObject({ state: 'running' })
  })

  it('is reached on the port its app declares when it ignores PORT, as with a network of its own', async () => {
    const declared = await freePort()
    const { image } = await listeningOn(String(declared), '0.0.0.0')
    const spec = installation.spec(image, { port: declared })
    await engine.apply(spec)
    const container = await until('its address is corrected', async () => {
      const found = await find(spec.name)
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
      const spec = installation.spec(image)
      const { address } = await engine.apply(spec)
      const port = await printedPid(spec.name, 'at ')
      await until('its socket', async () => (await engine.listeners!(spec.name))?.sockets.length || null)
      expect(await engine.listeners!(spec.name)).toEqual({ sockets: [{ address: host, port }] })
      expect((await find(spec.name))?.address).toEqual(address)
      await expect(fetch(`http://${address!.host}:${address!.port}/`)).rejects.toThrow()
      await engine.remove(spec.name)
      expect(await engine.listeners!(spec.name)).toBeNull()
    }
  })

  it('shows only sockets of the processes that it started', async () => {
    const { image } = await shell(
      `node -e 'require("http").createServer().listen(process.env.PORT, "0.0.0.0", () => console.log("up"))' &`,
      'wait',
    )
    const spec = installation.spec(image)
    const { address } = await engine.apply(spec)
    await until('up', async () => (await messagesOf(engine, spec.name)).includes('up') || null)
    expect(await engine.listeners!(spec.name)).toEqual({
      sockets: [{ address: '0.0.0.0', port: address!.port }],
    })
  })

  it('starts again on another port when its own was taken meanwhile', async () => {
    // The first try gives its own port away and then fails as a server does that finds it taken.
    const { image } = await installation.build(engine, {
      Dockerfile: 'FROM node\nCOPY . .\nCMD ["node", "server.js"]\n',
      'server.js': `
        const fs = require('node:fs'), { spawn } = require('node:child_process')
        const serve = 'require("http").createServer((q, s) => s.end("ok")).listen(process.env.PORT, () => console.log("up"))'
        if (fs.existsSync('taken')) eval(serve)
        else {
          fs.writeFileSync('taken', '')
          const thief = spawn(process.execPath, ['-e', serve], {
            detached: true, env: { PORT: process.env.PORT, HOME: '/' }, stdio: ['ignore', 'pipe', 'ignore'],
          })
          fs.writeFileSync('thief', String(thief.pid))
          thief.stdout.once('data', () => { console.log('EADDRINUSE'); process.exit(1) })
        }`,
    })
    const spec = installation.spec(image)
    const first = await engine.apply(spec)
    const thief = () =>
      Number(
        readFileSync(
          path.join(
            path.dirname(engineFiles(installation.home).containers),
            'images',
            'dep_1',
            'root',
            'thief',
          ),
          'utf8',
        ),
      )
    try {
      await until(
        'the second try is up',
        async () => (await messagesOf(engine, spec.name)).includes('up') || null,
      )
      const now = await find(spec.name)
      expect(now?.address?.port).not.toBe(first.address?.port)
      expect(await (await fetch(`http://127.0.0.1:${now!.address!.port}/`)).text()).toBe('ok')
    } finally {
      process.kill(thief(), 'SIGKILL')
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
    await writeFile(path.join(installation.home, 'package.json'), '{"type":"module"}')
    const { image } = await installation.build(engine, {
      Dockerfile: 'FROM node\nCOPY server.js .\nCMD ["node", "server.js"]\n',
      'server.js': 'console.log("is", typeof require)',
    })
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    expect(await exited(spec.name)).toMatchObject({ exitCode: 0 })
    expect(await messagesOf(engine, spec.name)).toEqual(['is function'])
  })
})

describe('a build', () => {
  it('ends with the engine that started it', async () => {
    const other = await installation.open()
    const printed: string[] = []
    const building = installation
      .build(other, { Dockerfile: 'FROM alpine\nRUN echo pid $$ && sleep 500\nCMD ["x"]\n' }, {}, (line) =>
        printed.push(line.message),
      )
      .catch((error: unknown) => error)
    const pid = await until('the step runs', () => {
      const line = printed.find((message) => /^pid \d+$/.test(message))
      return line ? Number(line.slice(4)) : null
    })
    await other.close()
    await gone(pid)
    expect(await building).toBeInstanceOf(Error)
  })

  it('is interrupted, its step ended, when the supervisor is killed', async () => {
    let pid = 0
    const building = installation.build(
      engine,
      { Dockerfile: 'FROM alpine\nRUN echo pid $$ && sleep 500\nCMD ["x"]\n' },
      {},
      ({ message }) => {
        if (!/^pid \d+$/.test(message)) return
        pid = Number(message.slice(4))
        process.kill(supervisorPids()[0]!, 'SIGKILL')
      },
    )
    await expect(building).rejects.toMatchObject({ reason: 'interrupted' })
    await engine.list()
    await gone(pid)
  })

  it('tells why it was aborted when the caller says so', async () => {
    const abort = new AbortController()
    await expect(
      installation.build(
        engine,
        { Dockerfile: 'FROM alpine\nRUN echo now && sleep 500\nCMD ["x"]\n' },
        { signal: abort.signal },
        (line) => line.message === 'now' && abort.abort(new EngineFailure('build timeout', 'took too long')),
      ),
    ).rejects.toMatchObject({ reason: 'build timeout' })
  })
})

describe('a container log', () => {
  const readAll = async (reader: ContainerLogReader) => {
    const messages: string[] = []
    for await (const line of reader.read()) messages.push(line.message)
    return messages
  }

  it('is bounded, keeps the newest lines, and a reader misses none across the turn', async () => {
    const dir = path.join(installation.home, 'log')
    await mkdir(dir)
    const writer = new ContainerLogWriter(dir)
    const reader = new ContainerLogReader(dir, null)
    const read: string[] = []
    const filler = 'x'.repeat(8_000)
    for (let number = 0; number < 6_000; number++) {
      writer.write('stdout', [`${number} ${filler}`])
      if (number % 500 === 0) read.push(...(await readAll(reader)))
    }
    read.push(...(await readAll(reader)))
    writer.close()
    await reader.close()
    expect(read.map((line) => Number.parseInt(line, 10))).toEqual(
      Array.from({ length: 6_000 }, (_, at) => at),
    )
    const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(path.join(dir, name)).size, 0)
    expect(bytes).toBeLessThan(33 * 1024 * 1024)
    const late = await readAll(new ContainerLogReader(dir, null))
    expect(late.at(-1)).toMatch(/^5999 /)
    expect(late.length).toBeLessThan(6_000)
  })

  it('gives each line a time of its own, and takes `since` of any precision', async () => {
    const dir = path.join(installation.home, 'log')
    await mkdir(dir)
    const writer = new ContainerLogWriter(dir)
    writer.write('stdout', ['a', 'b', 'c'])
    writer.close()
    const stamps: string[] = []
    for await (const line of new ContainerLogReader(dir, null).read()) stamps.push(line.timestamp)
    expect(new Set(stamps).size).toBe(3)
    const readSince = async (since: string) => await readAll(new ContainerLogReader(dir, since))
    expect(await readSince(stamps[1]!)).toEqual(['c'])
    expect(await readSince(`${stamps[0]!.slice(0, -1)}000Z`)).toEqual(['b', 'c'])
    expect(await readSince(new Date(Date.now() - 60_000).toISOString())).toEqual(['a', 'b', 'c'])
  })
})
