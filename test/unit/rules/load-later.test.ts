import path from 'node:path'
import { expect, it } from 'vitest'
import { filesEndingWith } from '../../../testkit/source-text.ts'

/** Parts of the control plane while it runs; the command line is a process of its own. */
const running =
  /^src\/(?:alerting|api|engines|files|gateway\/control|metrics|oauth|operations|regions|store|server\/(?:peers|oauth)\.ts)/
const dynamicImport = /import\(\s*'([^']+)'/g
/** Loaded before the platform is ready, if at all. */
const atStart = ['src/store/postgres/db.ts', 'src/files/bucket.ts', 'dockerode']

it('modules that the control plane loads with their first use are loaded once it is ready', () => {
  const files = [...filesEndingWith('.ts')]
  const modulesOf = ([file, text]: [string, string]) =>
    [...text.matchAll(dynamicImport)].map(([, spec = '']) =>
      spec.startsWith('.') ? path.posix.join(path.posix.dirname(file), spec) : spec,
    )
  const loaded = files.filter(([file]) => file === 'src/server/load-later.ts').flatMap(modulesOf)
  expect(loaded.length).toBeGreaterThan(0)
  const used = files.filter(([file]) => running.test(file)).flatMap(modulesOf)
  expect(used.filter((module) => ![...loaded, ...atStart].includes(module))).toEqual([])
})
