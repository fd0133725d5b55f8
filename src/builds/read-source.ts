import { lstat, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type SourceFacts, sourceFacts, unreadablePackage } from '../domain/apps/source-facts.ts'

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
  return sourceFacts(files, files.has('package.json') ? await readPackage(contextDir) : null)
}

async function readPackage(contextDir: string): Promise<string> {
  const file = path.join(contextDir, 'package.json')
  if ((await lstat(file)).size > mostPackageJsonBytes) throw unreadablePackage('is longer than 1 MiB')
  return readFile(file, 'utf8')
}
