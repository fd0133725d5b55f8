import { expect, it } from 'vitest'
import { filesEndingWith } from '../../../testkit/source-text.ts'

const mostLines = 300

/** Test files that were longer when this rule came to tests. Split one and remove its row; never add one. */
const longTests = new Set([
  'test/browser/words.test.ts',
  'test/platform/access/matrix.test.ts',
  'test/platform/api/door.test.ts',
  'test/platform/api/routes.test.ts',
  'test/platform/cli/deploy.test.ts',
  'test/platform/cli/rows.test.ts',
  'test/platform/console/sessions.test.ts',
  'test/platform/gateway/proxying.test.ts',
  'test/platform/gateway/scaling.test.ts',
  'test/platform/mcp/http.test.ts',
  'test/platform/mcp/tools.test.ts',
  'test/platform/mcp/undo-tools.test.ts',
  'test/platform/operations/databases.test.ts',
  'test/platform/operations/environments.test.ts',
  'test/platform/regions/machine/usage-meter.test.ts',
  'test/real/engines/process/build.test.ts',
  'test/real/engines/process/supervisor.test.ts',
  'test/real/installation/trust.test.ts',
  'test/real/mcp/stdio.test.ts',
  'test/unit/builds/unpack-archive.test.ts',
  'test/unit/metrics/metric-store.test.ts',
])

it(`no file has more than ${mostLines} lines; lint holds functions to 50`, () => {
  const files = [...filesEndingWith('.ts', '.tsx', '.mjs', '.js', '.css')].map(([file, text]) => ({
    file,
    lines: text.split('\n').length - 1,
  }))
  expect(files.length).toBeGreaterThan(1000)
  const long = files.filter(({ file, lines }) => lines > mostLines && !longTests.has(file))
  expect(long).toEqual([])
  const shorter = [...longTests].filter(
    (name) => (files.find(({ file }) => file === name)?.lines ?? 0) <= mostLines,
  )
  expect(shorter, 'rows to remove').toEqual([])
})
