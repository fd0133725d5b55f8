import { lstat, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { PackageFacts, SourceFacts } from '../domain/apps/generated-dockerfile.ts'
import { EngineFailure } from '../engines/engine.ts'

const mostPackageJsonBytes = 1024 * 1024

/** The facts for generating a preset's Dockerfile. Links are not followed: they could lead out of the source. */
export async function readSourceFacts(contextDir: string): Promise<SourceFacts> {
  const files = new Set<string>()
  for (const entry of await readdir(contextDir, { withFileTypes: true })) {
    if (entry.isFile()) files.add(entry.name)
    if (!entry.isDirectory() || entry.name === 'node_modules' || entry.name === '.git') continue
    for (const inner of await readdir(path.join(contextDir, entry.name), { withFileTypes: true }))
      if (inner.isFile()) files.add(`${entry.name}/${inner.name}`)
  }
  return { files, packageJson: files.has('package.json') ? await readPackage(contextDir) : null }
}

async function readPackage(contextDir: string): Promise<PackageFacts> {
  const file = path.join(contextDir, 'package.json')
  if ((await lstat(file)).size > mostPackageJsonBytes) throw unreadable('is longer than 1 MiB')
  let value: unknown
  try {
    value = JSON.parse((await readFile(file, 'utf8')).replace(/^\ufeff/, ''))
  } catch {
    throw unreadable('is not JSON')
  }
  if (!isRecord(value)) throw unreadable('is not a JSON object')
  const packages = [value.dependencies, value.devDependencies, value.optionalDependencies].filter(isRecord)
  const specifiers = packages.flatMap((one) => Object.values(one))
  return {
    scripts: textsOf(value.scripts),
    main: text(value.main),
    packageManager: text(value.packageManager),
    hasDependencies: specifiers.length > 0,
    needsWholeSource:
      value.workspaces !== undefined ||
      specifiers.some((one) => /^(?:file|link|workspace|portal):/.test(text(one) ?? '')),
  }
}

function textsOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => text(entry[1]) !== null),
  )
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unreadable(why: string): EngineFailure {
  return new EngineFailure(
    'no Dockerfile',
    `package.json ${why}, so no Dockerfile can be generated from it. Fix it, or add a Dockerfile.`,
  )
}
