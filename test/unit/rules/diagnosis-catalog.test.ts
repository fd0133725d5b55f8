import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { diagnosisCauses } from '../../../src/contract/diagnosis.ts'
import { buildCauses } from '../../../src/domain/diagnosis/build.ts'
import { catalog } from '../../../src/domain/diagnosis/catalog.ts'
import { startCauses } from '../../../src/domain/diagnosis/start.ts'

it('docs/interface.md#diagnosis lists the catalog as it is, in its order', () => {
  const page = readFileSync('docs/interface.md', 'utf8')
  const rows = diagnosisCauses.map(
    (cause) => `| \`${cause}\` | ${catalog[cause].meaning} | ${catalog[cause].fix} |\n`,
  )
  expect(page).toContain(rows.join(''))
})

it('G1 names a cause for every reason for which a deployment fails', () => {
  const source = (file: string) => readFileSync(`src/${file}`, 'utf8')
  const union = /type FailureReason =\n([\s\S]*?)\n\n/.exec(source('engines/engine.ts'))![1]!
  const reasons = [...union.matchAll(/'([^']+)'/g)].map(([, reason]) => reason!)
  const named = new Set(Object.keys({ ...buildCauses, ...startCauses }))
  expect(reasons.length).toBeGreaterThan(15)
  expect(reasons.filter((reason) => !named.has(reason))).toEqual([])
})
