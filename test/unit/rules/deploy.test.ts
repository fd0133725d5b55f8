import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../../src/config/config.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
const has = (program: string) => spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined

interface Service {
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: string[]
  read_only?: boolean
  cap_drop?: string[]
}

describe('deploy/compose.yaml', () => {
  const given: Record<string, string> = {
    LONGSHORE_MASTER_KEY: 'ab'.repeat(32),
    LONGSHORE_BOOTSTRAP_TOKEN: `lsu_${'a1'.repeat(24)}`,
    POSTGRES_PASSWORD: 'f'.repeat(32),
    S3_SECRET: 'e'.repeat(32),
  }
  const text = read('deploy/compose.yaml').replaceAll(/\$\{(\w+):\?\}/g, (_, name: string) => {
    if (given[name] === undefined) throw new Error(`${name} is not set by the commands above the file`)
    return given[name]
  })
  const { services, volumes } = parse(text, { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, null>
  }

  it('says which variables to set before it', () => {
    for (const name of Object.keys(given))
      expect(read('deploy/compose.yaml')).toMatch(new RegExp(`#.*\\b${name}=`))
  })

  it('starts two control planes of one installation, which differ in machine and region alone', () => {
    const configs = ['alder', 'birch'].map((name) =>
      readConfig({ ...services[name]?.environment, LONGSHORE_HOME: '/data' }),
    )
    expect(configs.map(({ node }) => node)).toEqual(['alder', 'birch'])
    expect(configs.map(({ regions }) => regions.map(({ region }) => region))).toEqual([['alder'], ['birch']])
    const shared = configs.map(({ node: _node, regions: _regions, ...rest }) => JSON.stringify(rest))
    expect(shared[0]).toBe(shared[1])
    expect(configs[0]?.filesUrl).toMatch(/^s3:/)
  })

  it('gives the control planes a read-only root file system and no capabilities', () => {
    for (const name of ['alder', 'birch'])
      expect(services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] })
  })

  it('names only services and volumes that it has', () => {
    for (const { depends_on = [], volumes: mounted = [] } of Object.values(services)) {
      expect(Object.keys(services)).toEqual(expect.arrayContaining(depends_on))
      for (const mount of mounted) {
        const [source = ''] = mount.split(':')
        if (source.startsWith('./')) expect(readdirSync(path.join(root, 'deploy'))).toContain(source.slice(2))
        else expect(Object.keys(volumes)).toContain(source)
      }
    }
  })

  it('the balancer knows each control plane and sends those that are not ready nothing', () => {
    const config = read('deploy/haproxy.cfg')
    for (const name of ['alder', 'birch']) expect(config).toContain(`server ${name} ${name}:4400`)
    // Without a Host header the check is refused, and every control plane counts as down.
    expect(config).toMatch(
      /option httpchk\n.*\n\s+http-check send meth GET uri \/readyz ver HTTP\/1\.1 hdr Host \S+\n/,
    )
    expect(config).toMatch(/disable-l7-retry unless METH_GET or \{ req\.hdr\(Idempotency-Key\) -m found \}/)
    expect(config).toContain('Mcp-Session-Id')
  })
})

it('deploy/longshore.env.example has known settings with usable values', () => {
  const lines = read('deploy/longshore.env.example').split('\n')
  const pairs = lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/s).slice(0, 2))
  const config = readConfig(Object.fromEntries(pairs))
  expect(config.regions).toEqual([{ region: 'north', engine: 'docker' }])
  expect(config.databaseUrl).toBeDefined()
})

it('deploy/Dockerfile and .dockerignore take all packages of a production install, and run as another user than root', () => {
  const lock = JSON.parse(read('package-lock.json')).packages as Record<string, { dev?: boolean }>
  const production = Object.keys(lock).filter((name) => name.startsWith('node_modules/') && !lock[name]?.dev)
  const [dockerfile, ignored] = [read('deploy/Dockerfile'), read('.dockerignore')]
  for (const name of production) {
    const folder = name.split('/')[1]?.startsWith('@') ? name.split('/').slice(0, 2).join('/') : name
    expect(dockerfile, name).toContain(`COPY ${folder} `)
    expect(ignored, name).toContain(`!${folder}\n`)
  }
  expect(dockerfile).toMatch(/^USER \$\{UID\}/m)
})

it.skipIf(!has('systemd-analyze'))(
  'systemd reads deploy/longshore.service without a complaint (skipped without systemd-analyze)',
  () => {
    const report = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', path.join(root, 'deploy/longshore.service')],
      {
        encoding: 'utf8',
      },
    )
    const complaints = `${report.stdout}${report.stderr}`
      .split('\n')
      .filter((line) => /longshore\.service:\d+/.test(line))
    expect(complaints).toEqual([])
  },
)

it.skipIf(!has('haproxy'))('HAProxy takes deploy/haproxy.cfg (skipped without HAProxy)', () => {
  // The names of the control planes resolve only in the network of the compose file.
  const config = read('deploy/haproxy.cfg').replaceAll(/(server \w+) \w+:4400/g, '$1 127.0.0.1:4400')
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-haproxy-'))
  try {
    writeFileSync(path.join(dir, 'haproxy.cfg'), config)
    execFileSync('haproxy', ['-c', '-f', path.join(dir, 'haproxy.cfg')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
})
