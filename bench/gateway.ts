/**
 * Gateway against nginx, HAProxy, Caddy (one core each) and direct, side by side on the same upstream: requests
 * per second at 50 kept connections, p50 on one, medians of rounds taken in turn. Needs wrk for throughput and nginx (also as the upstream, so that
 * it is never the bottleneck), HAProxy and Caddy for the comparison; says so when one is absent.
 *
 * Run: npm run bench -- gateway [--seconds 4] [--rounds 3] [--connections 50]
 */
import { execFile, execFileSync, fork, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, createServer, request } from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { runGateway } from '../src/gateway/gateway.ts'
import { connectGateway } from '../src/gateway/gateway-client.ts'
import { createLog } from '../src/log.ts'

const run = promisify(execFile)

function has(command: string): boolean {
  try {
    execFileSync('which', [command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}

interface Target {
  name: string
  port: number
  host: string
}

async function wrk(target: Target, connections: number, seconds: number) {
  const { stdout } = await run('wrk', [
    `-t${Math.min(2, connections)}`,
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    '-H',
    `Host: ${target.host}`,
    `http://127.0.0.1:${target.port}/`,
  ])
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  const failed = /Non-2xx|Socket errors/.test(stdout)
  return { rate, failed }
}

/** p50 in milliseconds of requests one after the other on one kept connection. */
async function latency(target: Target, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (let index = 0; index < count; index++) {
    const startedMs = performance.now()
    await new Promise<void>((resolve, reject) => {
      request({ port: target.port, host: '127.0.0.1', agent, headers: { host: target.host } }, (response) => {
        response.resume()
        response.on('end', () => resolve())
      })
        .on('error', reject)
        .end()
    })
    if (index > count / 10) times.push(performance.now() - startedMs)
  }
  agent.destroy()
  return median(times)
}

/** The upstream: nginx when there is one (it is never the bottleneck), else a small Node server. */
async function startUpstream(dir: string, body: string): Promise<{ port: number; stop(): void }> {
  const port = 19_300
  if (!has('nginx')) {
    const server = createServer((_request, response) => response.end(body)).listen(port, '127.0.0.1')
    return { port, stop: () => server.close() }
  }
  const server = `server { listen 127.0.0.1:${port} backlog=4096; location / { return 200 "${body}"; } }`
  return { port, stop: startNginx(dir, 'upstream', server) }
}

function startNginx(dir: string, name: string, server: string): () => void {
  const prefix = path.join(dir, name)
  execFileSync('mkdir', ['-p', prefix])
  const config = `worker_processes 1; daemon off; pid ${prefix}/pid; error_log ${prefix}/error.log;
events { worker_connections 4096; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path ${prefix}/b; proxy_temp_path ${prefix}/p;
  fastcgi_temp_path ${prefix}/f; uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s; open_file_cache max=10; ${server} }`
  execFileSync('sh', ['-c', 'cat > "$1"', 'sh', `${prefix}/conf`], { input: config })
  const child = spawn('nginx', ['-p', prefix, '-c', `${prefix}/conf`], { stdio: 'ignore' })
  return () => child.kill('SIGTERM')
}

const proxyPort = 19_301
const gatewayPort = 19_302
const haproxyPort = 19_303
const caddyPort = 19_304
const benchHost = 'bench.fn.localhost'

function proxyConfig(upstreamPort: number): string {
  return `upstream up { server 127.0.0.1:${upstreamPort}; keepalive 128; }
server { listen 127.0.0.1:${proxyPort} backlog=4096;
  location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; } }`
}

/** One thread, kept connections to the upstream, no log: as the nginx beside it. */
function haproxyConfig(upstreamPort: number): string {
  return `global
  maxconn 4096
  nbthread 1
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen bench
  bind 127.0.0.1:${haproxyPort}
  server up 127.0.0.1:${upstreamPort}
`
}

function caddyConfig(upstreamPort: number): string {
  return `{
  admin off
  auto_https off
  log {
    level ERROR
  }
}
http://:${caddyPort} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${upstreamPort} {
    transport http {
      keepalive_idle_conns_per_host 128
    }
  }
}
`
}

async function listening(name: string, port: number): Promise<void> {
  for (const endMs = performance.now() + 15_000; performance.now() < endMs; ) {
    const socket = net.connect(port, '127.0.0.1')
    const open = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (open) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${name} does not listen on port ${port}`)
}

/** Starts the proxies people would use instead, as far as they are installed; names those that are not. */
async function startOthers(dir: string, upstreamPort: number, stops: (() => void)[]): Promise<Target[]> {
  const targets: Target[] = []
  const others = [
    {
      name: 'haproxy',
      port: haproxyPort,
      config: haproxyConfig,
      args: (file: string) => ['-db', '-f', file],
    },
    {
      name: 'caddy',
      port: caddyPort,
      config: caddyConfig,
      args: (file: string) => ['run', '--adapter', 'caddyfile', '--config', file],
    },
  ]
  if (has('nginx')) {
    stops.push(startNginx(dir, 'proxy', proxyConfig(upstreamPort)))
    targets.push({ name: 'nginx', port: proxyPort, host: benchHost })
  } else console.log('nginx is not installed: no comparison with it')
  for (const { name, port, config, args } of others) {
    if (!has(name)) {
      console.log(`${name} is not installed: no comparison with it`)
      continue
    }
    const file = path.join(dir, name)
    await writeFile(file, config(upstreamPort))
    // Caddy gets one core, as the others do.
    const env = { ...process.env, GOMAXPROCS: '1', XDG_CONFIG_HOME: dir, XDG_DATA_HOME: dir }
    const child = spawn(name, args(file), { stdio: 'ignore', env })
    stops.push(() => child.kill('SIGTERM'))
    await listening(name, port)
    targets.push({ name, port, host: benchHost })
  }
  return targets
}

/** The gateway in a process of its own, as on the platform. */
async function serveGateway(dir: string): Promise<never> {
  const gateway = await runGateway({
    socketPath: path.join(dir, 'gw.sock'),
    host: '127.0.0.1',
    port: gatewayPort,
    clockScale: 1,
    build: 'bench',
    log: createLog('bench', 'error'),
    clock: systemClock,
  })
  process.on('SIGTERM', () => gateway.shutdown('bench over'))
  process.send?.('ready')
  await gateway.closed
  process.exit(0)
}

async function measure(seconds: number, rounds: number, connections: number): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'gw-bench-'))
  const stops: (() => void)[] = []
  try {
    const upstream = await startUpstream(dir, 'x'.repeat(1024))
    stops.push(upstream.stop)
    const targets: Target[] = [{ name: 'direct', port: upstream.port, host: benchHost }]
    targets.push(...(await startOthers(dir, upstream.port, stops)))
    const child = fork(fileURLToPath(import.meta.url), ['--serve', dir], { execArgv: process.execArgv })
    stops.push(() => child.kill('SIGTERM'))
    await new Promise((resolve) => child.once('message', resolve))
    const link = connectGateway({
      socketPath: path.join(dir, 'gw.sock'),
      build: 'bench',
      clock: systemClock,
      log: createLog('bench', 'error'),
      on: {},
    })
    link.setRoutes([
      {
        appEnvId: 'env_bench',
        envName: 'bench',
        kind: 'function',
        state: 'serving',
        containers: [{ name: 'one', host: '127.0.0.1', port: upstream.port, draining: false }],
        scaling: {
          containerConcurrency: 100,
          timeoutSeconds: 60,
          responseStartTimeoutSeconds: 60,
          idleTimeoutSeconds: 900,
          minScale: 1,
          maxScale: 1,
        },
      },
    ])
    stops.push(() => link.close())
    await new Promise((resolve) => setTimeout(resolve, 500))
    targets.push({ name: 'gateway', port: gatewayPort, host: benchHost })
    if (values.hold) await new Promise((resolve) => process.once('SIGTERM', resolve))
    else await report(targets, seconds, rounds, connections)
  } finally {
    for (const stop of stops.reverse()) stop()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await rm(dir, { recursive: true, force: true })
  }
}

async function report(
  targets: Target[],
  seconds: number,
  rounds: number,
  connections: number,
): Promise<void> {
  const rates = new Map<string, number[]>(targets.map((target) => [target.name, []]))
  const p50s = new Map<string, number[]>(targets.map((target) => [target.name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) {
      if (has('wrk')) {
        const { rate, failed } = await wrk(target, connections, seconds)
        rates.get(target.name)!.push(rate)
        if (failed) console.log(`${target.name}: some requests failed`)
      }
      p50s.get(target.name)!.push(await latency(target, 4000))
    }
  }
  if (!has('wrk')) console.log('wrk is not installed: no throughput figures')
  for (const target of targets) {
    const rate = has('wrk') ? `${Math.round(median(rates.get(target.name)!))} req/s` : ''
    console.log(
      `${target.name.padEnd(8)} ${rate.padStart(14)}   p50 ${median(p50s.get(target.name)!).toFixed(3)} ms`,
    )
  }
  const rateOf = (name: string) => median(rates.get(name) ?? [])
  for (const { name } of targets) {
    if (has('wrk') && name !== 'gateway' && name !== 'direct')
      console.log(`gateway / ${name}: ${(rateOf('gateway') / rateOf(name)).toFixed(2)}`)
  }
  const added = median(p50s.get('gateway')!) - median(p50s.get('direct')!)
  console.log(`p50 added by the gateway, one connection: ${added.toFixed(3)} ms`)
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    /** Start everything and wait, to measure by other means. */
    hold: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '50' },
  },
})
if (values.serve) await serveGateway(values.serve)
else await measure(Number(values.seconds), Number(values.rounds), Number(values.connections))
