import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { engineFiles } from '../../../../src/engines/process/engine-files.ts'
import { SupervisorClient } from '../../../../src/engines/process/supervisor/client.ts'
import { processIdentity } from '../../../../src/engines/process/supervisor/proc-tree.ts'
import { createLog } from '../../../../src/log.ts'
import { sampleDockerfile, sampleServerJs } from '../../../../testkit/builds/sample-sources.ts'
import { gone, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'
import { messagesOf, ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { until } from '../../../../testkit/engines/suite.ts'
import { bundledSupervisorEntry } from '../../../../testkit/engines/supervisor-entry.ts'

const fixture = new ProcessFixture('test')

const sample = () =>
  fixture.installation.build(fixture.engine, {
    Dockerfile: sampleDockerfile('node'),
    'server.js': sampleServerJs,
  })

/** The supervisors of this data directory, by their command line. */
function supervisorPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--home\0${fixture.installation.home}\0`)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** A second connection to the installation's supervisor. */
const ownClient = (silenceMs: number) =>
  new SupervisorClient({
    files: engineFiles(fixture.installation.home),
    home: fixture.installation.home,
    entry: bundledSupervisorEntry(),
    log: createLog('test', 'silent'),
    onChange: () => {},
    silenceMs,
  })

describe('the supervisor', () => {
  it('is one for an installation, however many engines open at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => fixture.installation.open()))
    await until('the late ones have left', () => supervisorPids().length === 1 || null)
  })

  it('killed with -9: a new one ends its orphans, also those that left the group, and says exited', async () => {
    const { image } = await fixture.shell(
      'sh -c "sleep 500" &',
      'echo child $!',
      "setsid sh -c 'echo strayed $$; exec sleep 500' &",
      'wait',
    )
    const spec = fixture.installation.spec(image, { port: null })
    await fixture.engine.apply(spec)
    const child = await fixture.printedPid(spec.name, 'child ')
    const strayed = await fixture.printedPid(spec.name, 'strayed ')
    const hints: string[] = []
    fixture.engine.watch((name) => hints.push(name))
    const [supervisor] = supervisorPids()
    process.kill(supervisor!, 'SIGKILL')
    await until('a hint comes without any call', () => hints.includes(spec.name) || null)
    expect(await fixture.find(spec.name)).toMatchObject({
      state: 'exited',
      exitCode: 137,
      finishedAt: expect.stringMatching(/Z$/),
    })
    expect(supervisorPids()).not.toContain(supervisor)
    await gone(child)
    await gone(strayed)
    expect(await messagesOf(fixture.engine, spec.name)).toContain('child 3')
  })

  it('killed again and again: every call comes back, and one supervisor is left', async () => {
    for (let round = 0; round < 6; round++) {
      const pids = supervisorPids()
      await Promise.all([
        ...pids.map(async (pid) => process.kill(pid, 'SIGKILL')).map((kill) => kill.catch(() => {})),
        ...Array.from({ length: 4 }, () => fixture.engine.list()),
      ])
      expect(await fixture.engine.list()).toEqual([])
    }
    await until('one is left', () => supervisorPids().length === 1 || null)
  })

  it('is found again after its socket was deleted, as cleaners of temporary folders do', async () => {
    const spec = fixture.installation.spec((await fixture.shell('exec sleep 500')).image, { port: null })
    await fixture.engine.apply(spec)
    const pids = supervisorPids()
    await rm(engineFiles(fixture.installation.home).socket)
    const other = new SupervisorClient({
      files: engineFiles(fixture.installation.home),
      home: fixture.installation.home,
      entry: bundledSupervisorEntry(),
      log: createLog('other', 'silent'),
      onChange: () => {},
    })
    expect(await other.ask<{ name: string }[]>({ verb: 'list' })).toMatchObject([{ name: spec.name }])
    await other.close()
    expect(await fixture.find(spec.name)).toMatchObject({ state: 'running' })
    await until('the late ones have left', () => supervisorPids().length === 1 || null)
    expect(supervisorPids()).toEqual(pids)
    await fixture.engine.remove(spec.name)
  })

  it('never kills a process that only has the number of an old container', async () => {
    const bystander = process.pid
    const dir = path.join(engineFiles(fixture.installation.home).containers, 'old-one')
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
    expect(await fixture.exited('old-one')).toMatchObject({ exitCode: 137, finishedAt: null })
    expect(processIdentity(bystander)).not.toBeNull()
  })

  it('of a copied data directory leaves the containers of the original alone', async () => {
    const { image } = await fixture.shell('echo main $$', 'exec sleep 500')
    const spec = fixture.installation.spec(image, { port: null })
    await fixture.engine.apply(spec)
    const pid = await fixture.printedPid(spec.name, 'main ')
    const copy = `${fixture.installation.home}-copy`
    // Sockets cannot be copied.
    const filter = (file: string) => !lstatSync(file).isSocket()
    await cp(fixture.installation.home, copy, { recursive: true, filter })
    const files = engineFiles(copy)
    const [entry, log] = [bundledSupervisorEntry(), createLog('copy', 'silent')]
    const client = new SupervisorClient({ files, home: copy, entry, log, onChange: () => {} })
    try {
      const listed = await client.ask<{ name: string }[]>({ verb: 'list' })
      expect(listed).toMatchObject([{ name: spec.name, state: 'exited', finishedAt: null }])
      expect(processIdentity(pid)).not.toBeNull()
      expect(await fixture.find(spec.name)).toMatchObject({ state: 'running' })
    } finally {
      await client.close()
      // Its supervisor exits when its data directory is gone.
      await rm(copy, { recursive: true, force: true })
    }
    await fixture.engine.remove(spec.name)
  })

  it('makes up no end for what died while no supervisor saw it', async () => {
    const { image } = await fixture.shell('echo main $$', 'exec sleep 500')
    const spec = fixture.installation.spec(image, { port: null })
    await fixture.engine.apply(spec)
    const pid = await fixture.printedPid(spec.name, 'main ')
    const [supervisor] = supervisorPids()
    // Stopped first, so that it does not see its container end.
    process.kill(supervisor!, 'SIGSTOP')
    process.kill(pid, 'SIGKILL')
    process.kill(supervisor!, 'SIGKILL')
    expect(await fixture.exited(spec.name)).toMatchObject({ exitCode: 137, finishedAt: null })
  })

  it('ends everything and exits when the data directory is deleted', async () => {
    const { image } = await sample()
    const spec = fixture.installation.spec(image)
    await fixture.engine.apply(spec)
    const { pid } = JSON.parse(
      await readFile(
        path.join(engineFiles(fixture.installation.home).containers, spec.name, 'record.json'),
        'utf8',
      ),
    )
    const [supervisor] = supervisorPids()
    await fixture.installation.destroy()
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
    expect(statSync(path.dirname(engineFiles(fixture.installation.home).socket)).mode & 0o777).toBe(0o700)
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
    const image = await fixture.shell("trap '' TERM", 'echo pid $$', 'while :; do sleep 0.1; done')
    const spec = fixture.installation.spec(image.image)
    await fixture.engine.apply(spec)
    await fixture.printedPid(spec.name, 'pid ')
    const client = ownClient(2_000)
    await client.open()
    await client.ask({ verb: 'stop', name: spec.name, graceSeconds: 5 })
    expect((await fixture.find(spec.name))?.state).toBe('exited')
    await client.close()
  })

  it('stays small', async () => {
    const { image } = await sample()
    for (let round = 0; round < 5; round++) {
      const spec = fixture.installation.spec(image)
      await fixture.engine.apply(spec)
      await fixture.engine.remove(spec.name)
    }
    const status = readFileSync(`/proc/${supervisorPids()[0]}/status`, 'utf8')
    expect(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024).toBeLessThan(60)
  })
})
