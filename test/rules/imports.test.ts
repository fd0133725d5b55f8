import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

/** Part → parts it may import (architecture.md). A part is a folder of src, a file of src, or `tools`. */
const ports = ['engines', 'notifiers', 'metrics', 'gateway', 'reconciler']
const allowed: Record<string, readonly string[]> = {
  errors: [],
  clock: [],
  config: ['errors', 'log'],
  log: [],
  contract: [],
  domain: ['contract', 'errors'],
  operations: ['contract', 'domain', 'errors', 'clock', 'store', ...ports.map((port) => `${port}:port`)],
  store: ['contract', 'domain', 'errors', 'log'],
  builds: ['engines:port', 'domain', 'contract', 'errors', 'log', 'clock'],
  metrics: ['domain', 'contract', 'errors', 'log', 'clock', 'engines:port', 'gateway:port'],
  notifiers: ['domain', 'contract', 'errors', 'log', 'clock'],
  reconciler: [
    'domain',
    'contract',
    'store',
    'clock',
    'log',
    'errors',
    'engines:port',
    'gateway:port',
    'metrics:port',
  ],
  gateway: ['domain', 'contract', 'clock', 'log', 'errors', 'engines:port'],
  alerting: ['domain', 'contract', 'store', 'clock', 'log', 'errors', 'notifiers:port', 'metrics:port'],
  api: ['contract', 'operations', 'errors', 'log'],
  client: ['contract', 'errors'],
  mcp: ['client', 'contract', 'errors', 'log', 'clock'],
  cli: ['client', 'contract', 'errors', 'log', 'clock', 'config', 'mcp', 'tools'],
  tools: ['contract', 'mcp'],
}

/** The file that is the port of a part; everything else of it is private to the part. */
const portFiles: Record<string, readonly string[]> = {
  engines: ['src/engines/engine.ts', 'src/engines/wait-until-listening.ts'],
  gateway: ['src/gateway/gateway-link.ts', 'src/gateway/histogram.ts'],
  notifiers: ['src/notifiers/notifier.ts'],
  metrics: ['src/metrics/metric-source.ts'],
  reconciler: ['src/reconciler/ports.ts'],
}

function filesBelow(dir: string): string[] {
  return readdirSync(path.join(root, dir)).flatMap((name) => {
    const file = `${dir}/${name}`
    if (statSync(path.join(root, file)).isDirectory()) return filesBelow(file)
    return file.endsWith('.ts') ? [file] : []
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
  if (part === 'bin') return true
  if (part === 'platform' || part === 'regions')
    return other !== 'operations' && other !== 'api' && other !== 'mcp' && other !== 'cli'
  if (part === 'tools') return target.startsWith('tools/') || allowed.tools?.includes(other) === true
  if (part === other) return part !== 'engines' || sameEngine(from, target)
  if (part === 'engines') return ['domain', 'contract', 'errors', 'log', 'clock'].includes(other)
  const rules = allowed[part] ?? []
  return (
    rules.includes(other) || (rules.includes(`${other}:port`) && portFiles[other]?.includes(target) === true)
  )
}

/** Adapters of a kind never import each other, only their port. */
function sameEngine(from: string, target: string): boolean {
  const [, , adapter, file] = from.split('/')
  const [, , other, otherFile] = target.split('/')
  return file === undefined || otherFile === undefined || adapter === other
}

describe('the direction of imports (architecture.md)', () => {
  const files = [...filesBelow('src'), ...filesBelow('tools')]

  it('reads the files at all', () => {
    expect(files.length).toBeGreaterThan(100)
  })

  it('is as the table says', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => target.endsWith('.ts') && !mayImport(file, target))
        .map((target) => `${file} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  it('keeps drawers out', () => {
    const drawers = files.filter((file) => /\/(utils?|helpers?|common|types)(\.ts|\/)/.test(file))
    expect(drawers).toEqual([])
  })
})
