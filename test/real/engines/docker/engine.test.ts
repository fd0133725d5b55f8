import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { containerName } from '../../../../src/engines/docker/names.ts'
import { waitUntilListening } from '../../../../src/engines/wait-until-listening.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture, EngineProxy, randomId } from '../../../../testkit/engines/docker-fixture.ts'
import { until } from '../../../../testkit/engines/suite-installation.ts'

const present = dockerAvailable
const title = present
  ? 'docker containers'
  : 'docker containers (absent: no engine answers on the Docker socket)'

describe.skipIf(!present)(title, () => {
  const fixture = new DockerFixture()
  beforeAll(() => fixture.open())
  afterAll(() => fixture.close())

  it('leaves a container few privileges and hard limits, as the kernel sees them', async () => {
    const code = `
      const fs = require('fs')
      const status = fs.readFileSync('/proc/self/status', 'utf8')
      console.log(status.match(/CapBnd:\\s*(\\w+)/)[1])
      console.log(status.match(/NoNewPrivs:\\s*(\\d)/)[1])
      console.log(fs.existsSync('/var/run/docker.sock'))
      console.log(process.pid)`
    const [bounding, noNewPrivileges, socket, pid] = await fixture.run(code)
    // CHOWN 0, DAC_OVERRIDE 1, FOWNER 3, KILL 5, SETGID 6, SETUID 7, NET_BIND_SERVICE 10.
    expect(BigInt(`0x${bounding}`)).toBe(0b100_1110_1011n)
    expect(noNewPrivileges).toBe('1')
    expect(socket).toBe('false')
    expect(Number(pid)).toBeGreaterThan(1)
  })

  it('lets containers of one account find each other by internal name, and no others', async () => {
    const spec = fixture.spec({ internalHost: 'backend' })
    await fixture.engine.apply(spec)
    const address = await until('it has an address', async () => {
      return (await fixture.engine.list()).find((one) => one.name === spec.name)?.address ?? null
    })
    const code = (target: string) => `
      const http = require('http')
      const started = Date.now()
      const ask = () => http.get({ host: '${target}', port: 8080, timeout: 5000 }, (r) => r.on('data', (d) => console.log(String(d))))
        .on('timeout', function () { this.destroy(new Error('timeout')) })
        .on('error', (e) => (e.code === 'ECONNREFUSED' && Date.now() < started + 60_000 ? setTimeout(ask, 20) : console.log('no: ' + (e.code ?? e.message))))
      ask()`
    expect(await fixture.run(code('backend'))).toEqual(['hello from nobody'])
    const [byName] = await fixture.run(code('backend'), { accountId: 'acc_2' })
    const [byAddress] = await fixture.run(code(address.host), { accountId: 'acc_2' })
    expect(byName).toMatch(/^no: (?:ENOTFOUND|EAI_AGAIN)/)
    expect(byAddress).toMatch(/^no: (?:timeout|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)/)
    await fixture.engine.remove(spec.name)
  })

  it('makes one network for an account, however many containers and control planes ask at once', async () => {
    const other = fixture.newEngine()
    const specs = Array.from({ length: 4 }, () => fixture.idle({ accountId: 'acc_race' }))
    await Promise.all(specs.map((spec, index) => (index % 2 ? other : fixture.engine).prepare!(spec)))
    const filters = {
      label: ['longshore.account=acc_race', `longshore.installation=${fixture.installationId}`],
    }
    const networks = await fixture.docker.listNetworks({ filters })
    expect(networks).toHaveLength(1)
    expect(networks[0]?.IPAM?.Config?.[0]?.Subnet).toMatch(/^10\.213\.\d+\.0\/24$/)
    for (const spec of specs) await fixture.engine.remove(spec.name)
    await other.close()
  })

  it('makes the network again when somebody removed it under a prepared container', async () => {
    const spec = fixture.idle({ accountId: 'acc_pruned' })
    await fixture.engine.prepare!(spec)
    const filters = {
      label: ['longshore.account=acc_pruned', `longshore.installation=${fixture.installationId}`],
    }
    const { docker } = fixture
    for (const one of await docker.listNetworks({ filters })) await docker.getNetwork(one.Id).remove()
    expect(await fixture.engine.apply(spec)).toMatchObject({ name: spec.name, state: 'running' })
    await fixture.engine.remove(spec.name)
  })

  it('lists only what it made, and touches nothing of another installation', async () => {
    const spec = fixture.idle()
    await fixture.engine.apply(spec)
    const stranger = fixture.newEngine({ installationId: `other-${randomId()}` })
    expect(await stranger.list()).toEqual([])
    await stranger.stop(spec.name, 0)
    await stranger.remove(spec.name)
    expect(await fixture.lines(spec.name, null, stranger)).toEqual([])
    await expect(stranger.apply(spec)).rejects.toMatchObject({ kind: 'conflict' })
    expect(await fixture.engine.list()).toMatchObject([{ name: spec.name, state: 'running' }])
    await fixture.engine.remove(spec.name)
    await stranger.purge('none')
    await stranger.close()
  })

  it('says what is wrong with an image that cannot be started, and leaves nothing behind', async () => {
    const rows: [string, RegExp][] = [
      [`FROM ${fixture.baseImage}\nUSER nobody-here\nCMD ["node"]\n`, /nobody-here/],
      ['FROM scratch\nCOPY Dockerfile /\n', /no CMD and no ENTRYPOINT/],
    ]
    for (const [dockerfile, said] of rows) {
      const { image } = await fixture.build({ Dockerfile: dockerfile })
      const spec = fixture.spec({ image })
      await expect(fixture.engine.apply(spec)).rejects.toMatchObject({
        reason: 'bad-command',
        message: expect.stringMatching(said),
      })
      expect((await fixture.engine.list()).map((one) => one.name)).not.toContain(spec.name)
    }
    await expect(fixture.engine.apply(fixture.spec({ image: 'longshore/gone:1' }))).rejects.toMatchObject({
      reason: 'image pull',
    })
  })

  it('keeps full times in the log, so that reading on loses and doubles nothing', async () => {
    const code = `for (let i = 0; i < 500; i++) console.log('line ' + i); console.log('x'.repeat(100_000)); console.log('end')`
    const spec = fixture.spec({ image: fixture.runner, env: { CODE: code }, port: null })
    await fixture.engine.apply(spec)
    await fixture.ended(spec.name)
    const all = await fixture.lines(spec.name)
    expect(all).toHaveLength(502)
    expect(all[500]?.message).toMatch(/^x+ … \[line cut at 8 KiB\]$/)
    for (const index of [0, 123, 499, 500, 501]) {
      const rest = await fixture.lines(spec.name, all[index]!.timestamp)
      expect(rest).toEqual(all.slice(index + 1))
    }
    await fixture.engine.remove(spec.name)
  })

  it('goes on by itself after the engine was away, with hints of what is there', async () => {
    const proxy = new EngineProxy()
    await proxy.open()
    const remote = fixture.newEngine({ dockerHost: proxy.dockerHost })
    const spec = fixture.idle()
    const hints: string[] = []
    const unwatch = remote.watch((name) => hints.push(name))
    await remote.apply(spec)
    await until('a first hint came', () => hints.includes(spec.name) || null)
    await proxy.shut()
    await expect(remote.list()).rejects.toMatchObject({ kind: 'unavailable' })
    // Not the build's fault, so it is no failed build.
    const build = fixture.build({ Dockerfile: 'FROM scratch\nLABEL a=b\n' }, {}, remote)
    await expect(build).rejects.toMatchObject({ kind: 'unavailable' })
    hints.length = 0
    await proxy.open()
    await until('a hint came again', () => hints.includes(spec.name) || null)
    expect(await remote.list()).toMatchObject([{ name: spec.name, state: 'running' }])
    await fixture.docker.getContainer(containerName(spec.name)).kill()
    await until('the end shows', async () => (await remote.list())[0]?.state === 'exited' || null)
    unwatch()
    await remote.remove(spec.name)
    await remote.close()
    await proxy.shut()
  })

  it('waits for the code, not for the proxy, where a container is reached through a published port', async () => {
    const proxy = new EngineProxy()
    await proxy.open()
    const remote = fixture.newEngine({ dockerHost: proxy.dockerHost })
    const code = `setTimeout(() => require('http').createServer((q, a) => a.end('late')).listen(8080), 500)`
    const spec = fixture.spec({ image: fixture.runner, env: { CODE: code } })
    const { address } = await remote.apply(spec)
    expect(address).toMatchObject({ host: '127.0.0.1', proxied: true })
    const outcome = await waitUntilListening({
      address: () => address,
      stillRunning: () => true,
      timeoutMs: 60_000,
      clock: systemClock,
      signal: new AbortController().signal,
    })
    expect(outcome).toBe('listening')
    const signal = AbortSignal.timeout(30_000)
    const answer = await fetch(`http://127.0.0.1:${address!.port}/`, { signal })
    expect(await answer.text()).toBe('late')
    await remote.remove(spec.name)
    await remote.close()
    await proxy.shut()
  })
})
