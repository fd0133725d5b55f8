/** Alternative proxies, each on one core, and their common upstream. */
import { execFileSync, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import net from 'node:net'
import path from 'node:path'

const proxyPort = 19_301
const haproxyPort = 19_303
const caddyPort = 19_304
export const benchHost = 'bench.fn.localhost'

export interface Target {
  name: string
  port: number
  /** One for each thread of the load. */
  hosts: string[]
}

export function has(command: string): boolean {
  try {
    execFileSync('which', [command], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The upstream: nginx when there is one (it is never the bottleneck), else a small Node server. */
export async function startUpstream(dir: string, body: string): Promise<{ port: number; stop(): void }> {
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

/** Starts the installed alternative proxies; reports missing ones. */
export async function startOthers(
  dir: string,
  upstreamPort: number,
  stops: (() => void)[],
): Promise<Target[]> {
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
    targets.push({ name: 'nginx', port: proxyPort, hosts: [benchHost] })
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
    targets.push({ name, port, hosts: [benchHost] })
  }
  return targets
}
