import { afterEach, expect, it, vi } from 'vitest'
import type { TestCase, TestModule } from 'vitest/node'
import SummaryReporter from '../../testkit/summary-reporter.ts'

afterEach(() => vi.restoreAllMocks())

/** A file of skipped tests: two of a suite that is skipped as a whole, and one below a hook that failed. */
function skippedFile(): TestModule {
  const errors = () => []
  const module = { type: 'module', relativeModuleId: 'a.test.ts', project: { name: 'unit' }, errors }
  const suite = { type: 'suite', fullName: 'a bucket', parent: module, state: () => 'skipped', errors }
  const failed = {
    ...suite,
    fullName: 'a server',
    state: () => 'failed',
    errors: () => [new Error('no port')],
  }
  const skipped = (fullName: string, parent: object, note?: string) =>
    ({ type: 'test', fullName, parent, module, result: () => ({ state: 'skipped', note }) }) as never
  const tests: TestCase[] = [
    skipped('a bucket > keeps a file', suite),
    skipped('a bucket > drops a file', suite),
    skipped('MariaDB', module, 'no mariadbd'),
    skipped('a server > answers', failed),
  ]
  const allTests = (state: string) => (state === 'skipped' ? tests : [])
  const children = { allTests, allSuites: () => [suite, failed] }
  return { ...module, children, state: () => 'passed' } as never
}

function printedBy(testNamePattern: RegExp | undefined): string {
  const print = vi.spyOn(console, 'log').mockImplementation(() => {})
  const reporter = new SummaryReporter()
  reporter.onInit!({ config: { testNamePattern } } as never)
  reporter.onTestRunEnd!([skippedFile()], [], 'passed')
  return print.mock.calls.flat().join('\n')
}

it('the summary of a run names what was skipped and why: a whole suite once, a test with its reason, none below a failed hook', () => {
  expect(printedBy(undefined).trim().split('\n')).toEqual([
    'skipped: a.test.ts > a bucket',
    'skipped: a.test.ts > MariaDB (no mariadbd)',
    'failed: a.test.ts > a server: no port',
  ])
})

it('the summary names no skipped test if the run was for tests of a title', () => {
  expect(printedBy(/one/).trim()).toBe('failed: a.test.ts > a server: no port')
})
