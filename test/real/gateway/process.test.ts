import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type EnsureGatewayOptions, ensureGateway } from '../../../src/gateway/control/spawn.ts'
import { freePort } from '../../../testkit/free-port.ts'
import {
  afterwards,
  controlPlane,
  functionRoute,
  get,
  silent,
  temporaryHome,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayProgram } from '../../../testkit/gateway/program.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'
let program = ''

beforeAll(async () => {
  const made = await gatewayProgram()
  program = made.program
  return made.remove
})
async function settings(change: Partial<EnsureGatewayOptions> = {}): Promise<EnsureGatewayOptions> {
  const home = change.home ?? (await temporaryHome())
  return {
    entry: [process.execPath, program],
    home,
    socketPath: path.join(home, 'gw.sock'),
    host: '127.0.0.1',
    port: 0,
    clockScale: 1,
    build: 'b1',
    log: silent,
    ...change,
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Resolves when the port has no listener any more. */
async function refused(port: number): Promise<void> {
  // An unknown name, so that no such request waits at a container.
  const tried = () =>
    get(port, 'nobody.fn.localhost').then(
      () => false,
      () => true,
    )
  while (!(await tried())) await new Promise((resolve) => setTimeout(resolve, 2))
}

async function ensure(options: EnsureGatewayOptions) {
  const running = await ensureGateway(options)
  afterwards(async () => {
    if (alive(running.pid)) process.kill(running.pid, 'SIGKILL')
    await until(() => !alive(running.pid), 'end of the gateway process')
  })
  return running
}

describe('gateway process', () => {
  it('is started once and adopted afterwards', async () => {
    const options = await settings()
    const first = await ensure(options)
    expect(first.adopted).toBe(false)
    expect((await get(first.port, F)).status).toBe(503)
    const { link, heard } = controlPlane(options.socketPath)
    const container = await upstream()
    link.setRoutes([functionRoute([container.container('one')])])
    await until(() => heard.desired.length > 0)
    const second = await ensureGateway(options)
    expect(second).toEqual({ ...first, adopted: true })
    // Asking whether it is there does not take the link away from the control plane.
    expect(heard.down).toBe(0)
    expect((await get(first.port, F)).status).toBe(200)
  })

  it('ends with code 0 on SIGTERM, after the requests in flight', async () => {
    const options = await settings()
    const running = await ensure(options)
    let end: () => void = () => {}
    const container = await upstream((_request, response) => {
      end = () => response.end('done')
    })
    const { link, heard } = controlPlane(options.socketPath)
    link.setRoutes([functionRoute([container.container('one')])])
    await until(() => heard.desired.length > 0)
    const last = get(running.port, F)
    await until(() => container.now === 1)
    process.kill(running.pid, 'SIGTERM')
    await refused(running.port)
    expect(alive(running.pid)).toBe(true)
    end()
    expect((await last).body).toBe('done')
    await until(() => !alive(running.pid), 'end of the process')
  })

  it('makes way for another build on the same port, which is free for a moment only', async () => {
    const port = await freePort()
    const options = await settings({ port })
    const first = await ensure(options)
    const container = await upstream()
    const old = controlPlane(options.socketPath)
    old.link.setRoutes([functionRoute([container.container('one')])])
    await until(() => old.heard.desired.length > 0)
    expect((await get(port, F)).status).toBe(200)
    old.link.close()
    let stop = false
    let downMs = 0
    const client = (async () => {
      while (!stop) {
        const startedMs = performance.now()
        const reached = await get(port, 'nobody.fn.localhost').then(
          () => true,
          () => false,
        )
        if (!reached) downMs += performance.now() - startedMs
      }
    })()
    const second = await ensure({ ...options, build: 'b2' })
    stop = true
    await client
    // Milliseconds; a gateway that drains before it lets go of the port takes 30 s.
    expect(downMs).toBeLessThan(20_000)
    expect(second).toMatchObject({ adopted: false, port })
    expect(second.pid).not.toBe(first.pid)
    await until(() => !alive(first.pid), 'the first has left')
    const { link, heard } = controlPlane(options.socketPath, 'b2')
    link.setRoutes([functionRoute([container.container('one')])])
    await until(() => heard.desired.length > 0)
    expect((await get(port, F)).status).toBe(200)
  })

  it.each([{ clockScale: 2 }, { port: 'another' as unknown as number }])(
    'is replaced when its settings change: %o',
    async (change) => {
      const options = await settings({ port: await freePort() })
      const first = await ensure(options)
      const port = change.port ? await freePort() : options.port
      const second = await ensure({ ...options, ...change, port })
      expect(second.port).toBe(port)
      await until(() => !alive(first.pid), 'the first has left')
    },
  )

  it('says which port is taken', async () => {
    const port = await freePort()
    const other = net.createServer().listen(port, '127.0.0.1')
    afterwards(() => other.close())
    const failure = await ensureGateway(await settings({ port })).catch((error) => error)
    expect(failure.message).toBe('The gateway cannot start')
    expect(failure.details).toContain(`port ${port} is already taken`)
    expect(failure.details).toContain('LONGSHORE_GATEWAY_PORT')
  })

  it('starts although a socket file was left over from a crash', async () => {
    const options = await settings()
    const first = await ensure(options)
    process.kill(first.pid, 'SIGKILL')
    await until(() => !alive(first.pid))
    const second = await ensure(options)
    expect(second.adopted).toBe(false)
    expect((await get(second.port, F)).status).toBe(503)
  })

  it('writes nothing to standard output and one line to standard error when it cannot start', async () => {
    const port = await freePort()
    const other = net.createServer().listen(port, '127.0.0.1')
    afterwards(() => other.close())
    const home = await temporaryHome()
    const args = [program, `--home=${home}`, `--socket=${home}/s`, `--port=${port}`, '--build=b1']
    writeFileSync(`${home}/x`, '')
    let failure: { status: number; stdout: Buffer; stderr: Buffer } | null = null
    try {
      execFileSync(process.execPath, args, { stdio: 'pipe' })
    } catch (error) {
      failure = error as typeof failure
    }
    expect(failure!.status).toBe(3)
    expect(failure!.stdout.toString()).toBe('')
    expect(JSON.parse(failure!.stderr.toString()).error).toContain(`port ${port} is already taken`)
  })
})
