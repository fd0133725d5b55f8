import { execFileSync } from 'node:child_process'
import net from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { installationHash } from '../../../../src/engines/docker/names.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture } from '../../../../testkit/engines/docker-fixture.ts'

const rules = () => execFileSync('iptables', ['-w', '-S'], { encoding: 'utf8' })
const canChange = (() => {
  try {
    return process.getuid?.() === 0 && rules().includes('-N DOCKER-USER\n')
  } catch {
    return false
  }
})()
const here = canChange && dockerAvailable

describe.skipIf(!here)(
  'the machine behind the containers (skipped without Docker, iptables and root)',
  () => {
    const fixture = new DockerFixture()
    const chain = `LONGSHORE-${installationHash(fixture.installationId)}`
    const service = net.createServer((socket) => socket.end('reached'))
    let port = 0
    beforeAll(async () => {
      await new Promise<void>((resolve) => service.listen(0, '0.0.0.0', resolve))
      port = (service.address() as net.AddressInfo).port
      await fixture.open()
    })
    afterAll(async () => {
      service.close()
      await fixture.close()
    })

    const opened: Engine[] = []
    const open = async (options: { allowHostAccess?: boolean; openPorts?: number[] } = {}) => {
      const engine = fixture.newEngine(options)
      opened.push(engine)
      await engine.open()
      return engine
    }
    afterEach(async () => {
      for (const engine of opened.splice(0)) await engine.close()
    })

    /** What a container of the account gets from an address: the first bytes, or the code of the error. */
    const connectTo = async (host: string, at: number | string) =>
      (
        await fixture.run(
          `const gateway = require('fs').readFileSync('/proc/net/route', 'utf8').split('\\n').map((row) => row.split('\\t')).find((row) => row[1] === '00000000')[2].match(/../g).reverse().map((hex) => parseInt(hex, 16)).join('.')
        const socket = require('net').connect(${at}, ${host})
        socket.on('data', (text) => { console.log(String(text)); process.exit() })
        socket.on('error', (error) => { console.log(error.code); process.exit() })`,
        )
      )[0]

    /** How many packets to link-local addresses the rules refused since they were made. */
    const refusals = () => {
      const counted = execFileSync('iptables', ['-w', '-vnxL', `${chain}-F`], { encoding: 'utf8' })
      return Number(/^\s*(\d+)\s+\d+\s+REJECT .*169\.254\.0\.0\/16/m.exec(counted)?.[1])
    }

    it('is out of reach: its services and instance metadata', async () => {
      await open()
      expect(fixture.engine.isolation!()).toEqual({ metadataBlocked: true })
      expect(await connectTo('gateway', port)).toBe('ECONNREFUSED')
      expect(await connectTo("'169.254.169.254'", 80)).toBe('ECONNREFUSED')
      const counted = execFileSync('iptables', ['-w', '-vnxL', `${chain}-F`], { encoding: 'utf8' })
      expect(counted).toMatch(/^\s*[1-9]\d*\s+\d+\s+REJECT .*169\.254\.0\.0\/16/m)
    })

    it('answers on the platform’s own ports', async () => {
      await open({ openPorts: [port] })
      expect(await connectTo('gateway', port)).toBe('reached')
      await open()
      expect(await connectTo('gateway', port)).toBe('ECONNREFUSED')
    })

    it('is open where the operator wants it so, and the regions say it', async () => {
      const engine = await open({ allowHostAccess: true })
      expect(engine.isolation!()).toEqual({
        metadataBlocked: false,
        reason: 'LONGSHORE_ALLOW_HOST_ACCESS opens them.',
      })
      expect(rules()).not.toContain(chain)
      expect(await connectTo('gateway', port)).toBe('reached')
    })

    it('stays closed to build steps', async () => {
      await open()
      const code = `require('net').connect(80, '169.254.169.254').on('error', (error) => console.log('metadata', error.code))`
      const { heard } = await fixture.build({
        Dockerfile: `FROM ${fixture.baseImage}\nCOPY reach.js .\nRUN node reach.js\nCMD ["node"]\n`,
        'reach.js': code,
      })
      expect(heard).toContain('metadata ECONNREFUSED')
      expect(refusals()).toBeGreaterThan(0)
    })

    it('lets containers of one account and the platform talk to each other', async () => {
      await open()
      const spec = fixture.spec({ env: { GREETING: 'neighbor' } })
      const { address } = await fixture.engine.apply(spec)
      const get = `fetch('http://${spec.internalHost}:8080/').then((answer) => answer.text()).then(console.log, (error) => setTimeout(run, 50))`
      expect(await fixture.run(`const run = () => ${get}\nrun()`)).toEqual(['hello from neighbor'])
      const answer = await fetch(`http://${address!.host}:${address!.port}/`)
      expect(await answer.text()).toBe('hello from neighbor')
      await fixture.engine.remove(spec.name)
    })

    it('keeps accounts apart also while Docker creates networks, when it takes its own rules away for moments', async () => {
      await open()
      const spec = fixture.spec()
      const { address } = await fixture.engine.apply(spec)
      // As long as the other container runs, whose time begins with its program.
      let isOver = false
      const tries = fixture.run(
        `const { connect } = require('net')
        const end = Date.now() + 8_000
        let [tried, reached] = [0, 0]
        const attempt = () => {
          if (Date.now() > end) { console.log(tried > 100, reached); process.exit() }
          tried += 1
          const socket = connect(${address!.port}, '${address!.host}', () => { reached += 1; socket.destroy() })
          socket.on('error', () => {})
          setTimeout(() => { socket.destroy(); attempt() }, 20)
        }
        for (let many = 0; many < 10; many += 1) attempt()`,
        { accountId: 'acc_2' },
      )
      void tries.finally(() => (isOver = true)).catch(() => {})
      for (let at = 0; !isOver; at += 1) {
        const Name = `${fixture.installationId}-passing-${at}`
        const network = await fixture.docker.createNetwork({ Name })
        await network.remove()
      }
      expect(await tries).toEqual(['true 0'])
      await fixture.engine.remove(spec.name)
    })

    it('gets its rules back when somebody took them away, and keeps none of networks that are gone', async () => {
      const engine = await open()
      const jumps = () =>
        rules().match(new RegExp(`^-A (?:INPUT|DOCKER-USER|FORWARD) .* -j ${chain}-.$`, 'gm')) ?? []
      const before = jumps()
      expect(before.length).toBeGreaterThanOrEqual(3)
      execFileSync('iptables', ['-w', ...before[0]!.replace('-A', '-D').split(' ')])
      await open()
      expect(jumps().toSorted()).toEqual(before.toSorted())
      await engine.tidy!()
      expect(rules()).not.toContain(chain)
    })
  },
)
