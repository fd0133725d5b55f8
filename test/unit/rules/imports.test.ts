import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')

/**
 * Part → parts it may import. A part is a folder of src, a file of src, or `tools`. `x:port` is the port of the part
 * x only. `server` may import anything.
 */
const foundation = [
  'amounts',
  'bearer-token',
  'clock',
  'contract',
  'domain',
  'errors',
  'host-check',
  'http-client',
  'json-lines',
  'json-or-null',
  'json-shape',
  'last-resort',
  'log',
  'loopback',
  'open-files',
  'pacer',
  'process-start',
  'race-abort',
  'read-progress',
  'read-up-to',
  'retry-after',
  'slack-text',
  'spawn-child',
  'trace',
  'trusted-proxies',
  'worker',
]
const allowed: Record<string, readonly string[]> = {
  errors: [],
  clock: [],
  worker: ['clock'],
  'bearer-token': [],
  'docker-endpoint': ['errors', 'loopback'],
  loopback: [],
  'json-lines': [],
  'host-check': ['loopback'],
  'lock-holder': ['process-start'],
  'make-folder': [],
  'process-start': [],
  'http-client': [],
  'json-shape': [],
  'last-resort': [],
  'open-files': [],
  'spawn-child': ['errors'],
  'trusted-proxies': [],
  'client-address': ['trusted-proxies'],
  pacer: [],
  'race-abort': [],
  'read-progress': [],
  'read-up-to': [],
  'retry-after': [],
  'json-or-null': [],
  'slack-text': [],
  nearest: [],
  amounts: [],
  config: ['contract', 'errors', 'log', 'loopback', 'nearest', 'trusted-proxies'],
  log: [],
  contract: [],
  domain: ['contract', 'amounts', 'errors', 'loopback'],
  store: [...foundation, 'lock-holder', 'make-folder'],
  files: [...foundation],
  metrics: [...foundation, 'engines:port'],
  engines: [...foundation, 'docker-endpoint'],
  gateway: [...foundation, 'engines:port', 'metrics:port'],
  builds: [...foundation, 'engines:port', 'files'],
  alerting: [...foundation, 'metrics:port', 'store'],
  acme: ['clock', 'http-client', 'json-or-null', 'read-up-to', 'retry-after'],
  domains: [...foundation, 'acme', 'store'],
  operations: [...foundation, 'alerting:port', 'engines:port', 'gateway:port', 'metrics:port', 'store'],
  regions: [...foundation, 'builds:port', 'engines:port', 'files', 'gateway:port', 'metrics:port', 'store'],
  oauth: [...foundation, 'operations', 'store'],
  chat: [...foundation, 'alerting:port', 'nearest', 'operations', 'store'],
  api: [
    'chat:port',
    'client:port',
    'contract',
    'oauth',
    'operations',
    'errors',
    'bearer-token',
    'client-address',
    'host-check',
    'json-shape',
    'log',
    'open-files',
    'pacer',
    'read-progress',
    'trace',
    'trusted-proxies',
  ],
  client: ['clock', 'contract', 'errors', 'nearest'],
  console: ['client', 'contract', 'errors'],
  mcp: [
    'client',
    'contract',
    'amounts',
    'errors',
    'bearer-token',
    'client-address',
    'host-check',
    'json-shape',
    'log',
    'clock',
    'nearest',
    'pacer',
    'trace',
  ],
  cli: [
    'client',
    'contract',
    'domain:port',
    'amounts',
    'errors',
    'http-client',
    'log',
    'clock',
    'config',
    'docker-endpoint',
    'lock-holder',
    'make-folder',
    'mcp',
    'nearest',
    'process-start',
    'tools',
    'trace',
  ],
  tools: ['contract', 'amounts', 'mcp'],
}

/** The files that are the port of a part; everything else of it is private to the part. */
const portFiles: Record<string, readonly string[]> = {
  alerting: [
    'src/alerting/state-history.ts',
    'src/alerting/states.ts',
    'src/alerting/steps.ts',
    'src/alerting/outbox.ts',
    'src/alerting/notifiers/notifier.ts',
    'src/alerting/notifiers/dial.ts',
    'src/alerting/notifiers/outbound.ts',
  ],
  builds: ['src/builds/content.ts'],
  chat: ['src/chat/receiver.ts'],
  client: ['src/client/http-send.ts'],
  domain: [
    // What source needs, also before it is uploaded.
    'src/domain/apps/detect-preset.ts',
    'src/domain/apps/source-facts.ts',
    // `policy test` decides offline with the same code.
    'src/domain/policy/call.ts',
    'src/domain/policy/decide.ts',
    'src/domain/policy/starting.ts',
    'src/domain/policy/validate.ts',
  ],
  engines: [
    'src/engines/engine.ts',
    'src/engines/line-splitter.ts',
    'src/engines/login-shell.ts',
    'src/engines/listening-sockets.ts',
    'src/engines/wait-until-listening.ts',
    // How a database is run and copied, by an engine or a cluster.
    'src/engines/database-container.ts',
    'src/engines/database-tools.ts',
    'src/engines/redis/copy.ts',
    // Copies of volumes: what a cluster implements too, and the check of what each engine gives.
    'src/engines/volume-copies.ts',
    'src/engines/volume-tar.ts',
  ],
  gateway: ['src/gateway/control/protocol.ts', 'src/gateway/control/request-record.ts'],
  metrics: ['src/metrics/source.ts', 'src/metrics/histogram.ts', 'src/metrics/traffic-sample.ts'],
}

function filesBelow(dir: string): string[] {
  return readdirSync(path.join(root, dir)).flatMap((name) => {
    const file = `${dir}/${name}`
    if (statSync(path.join(root, file)).isDirectory()) return filesBelow(file)
    return /\.tsx?$/.test(file) ? [file] : []
  })
}

function partOf(file: string): string {
  if (file.startsWith('tools/')) return 'tools'
  return (file.split('/')[1] ?? '').replace(/\.ts$/, '')
}

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  const found = [...text.matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+)'/g)]
  return found.map((match) => path.posix.join(path.posix.dirname(file), match[1] as string))
}

function mayImport(from: string, target: string): boolean {
  const part = partOf(from)
  const other = partOf(target)
  if (part === 'server') return true
  if (part === 'tools') return target.startsWith('tools/') || allowed.tools?.includes(other) === true
  if (part === other) return part !== 'engines' || sameEngine(from, target)
  const rules = allowed[part] ?? []
  return (
    rules.includes(other) || (rules.includes(`${other}:port`) && portFiles[other]?.includes(target) === true)
  )
}

/** Adapters of a kind never import each other, only their port and what reads Dockerfiles and copies Redis for all of them. */
function sameEngine(from: string, target: string): boolean {
  const [, , adapter, file] = from.split('/')
  const [, , other, otherFile] = target.split('/')
  return (
    file === undefined ||
    otherFile === undefined ||
    adapter === other ||
    other === 'dockerfile' ||
    other === 'redis'
  )
}

/** The first cycle found on each way down, as `a > b > a`. */
function cyclesIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) cycles.push([...way.slice(way.indexOf(file)), file].join(' > '))
    if (done.has(file) || way.includes(file)) return
    for (const target of imports.get(file) ?? []) visit(target, [...way, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return cycles
}

describe('the direction of imports (docs/architecture.md#imports)', () => {
  const files = [...filesBelow('src'), ...filesBelow('tools')]

  it('reads the files at all', () => {
    expect(files.length).toBeGreaterThan(100)
  })

  it('loads no package later by its names: bundled, one without ES modules has a default only', () => {
    const named = files.flatMap((file) =>
      [
        ...readFileSync(path.join(root, file), 'utf8').matchAll(
          /const \{ (?!default)[^}]+\} = await import\('(?!\.|node:)([^']+)'\)/g,
        ),
      ].map(([, name]) => `${file} loads ${name}`),
    )
    // It has ES modules.
    expect(named).toEqual(['src/alerting/notifiers/email.ts loads nodemailer'])
  })

  it('is as the table says', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => /\.tsx?$/.test(target) && !mayImport(file, target))
        .map((target) => `${file} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('has no cycle, types included, in tests and benches too', () => {
    const all = [...files, ...['test', 'testkit', 'bench', 'evals'].flatMap(filesBelow)]
    const imports = new Map(
      all.map((file) => [file, importsOf(file).filter((target) => /\.tsx?$/.test(target))]),
    )
    expect(cyclesIn(imports)).toEqual([])
  })

  it('leads from tests and benches to the testkit and the sources only', () => {
    const wrong = ['src', 'tools', 'testkit', 'bench', 'evals'].flatMap(filesBelow).flatMap((file) =>
      importsOf(file)
        .filter(
          (target) =>
            target.startsWith('test/') ||
            (/^(src|tools)/.test(file) && /^(testkit|bench|evals)/.test(target)),
        )
        .map((target) => `${file} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('keeps drawers out', () => {
    const drawers = files.filter((file) => /\/(utils?|helpers?|common|types)(\.ts|\/)/.test(file))
    expect(drawers).toEqual([])
  })
})
