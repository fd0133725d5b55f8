import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import { absentTests, missing } from './tiers.mjs'

type Unhandled = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1]

/**
 * Prints one line for each skipped and each failed test as the last output of a run, so that a log that keeps only its
 * end still names them: file, title, and the reason or the first lines of the error.
 */
export default class SummaryReporter implements Reporter {
  /** Only tests with a given title run, and all others count as skipped. */
  #isFiltered = false

  onInit: Reporter['onInit'] = ({ config }) => {
    this.#isFiltered = config.testNamePattern !== undefined
  }

  onTestRunEnd: Reporter['onTestRunEnd'] = (modules, unhandled) => {
    const lines = [...(this.#isFiltered ? [] : skippedLines(modules)), ...failedLines(modules, unhandled)]
    if (lines.length > 0) console.log(`\n${lines.join('\n')}`)
  }
}

function skippedLines(modules: readonly TestModule[]): Set<string> {
  const lines = new Set<string>()
  for (const module of modules) {
    const { name } = module.project
    for (const test of module.children.allTests('skipped')) {
      if (hasFailedHook(test)) continue
      lines.add(missing[name] ? `skipped: ${name} tier (${missing[name]})` : skippedLine(test))
    }
  }
  const absent = absentTests(modules.map(({ project }) => project.name))
  if (absent) lines.add(`skipped: ${absent}`)
  return lines
}

/** Below a failed `beforeAll`, which is listed itself, every test counts as skipped. */
function hasFailedHook({ parent, module }: TestCase): boolean {
  for (let suite = parent; suite.type === 'suite'; suite = suite.parent) {
    if (suite.errors().length > 0) return true
  }
  return module.errors().length > 0
}

/** The line of a whole suite if all of it is skipped. */
function skippedLine(test: TestCase): string {
  let whole: TestCase | TestSuite = test
  while (whole.parent.type === 'suite' && whole.parent.state() === 'skipped') whole = whole.parent
  const result = test.result()
  const why = result.state === 'skipped' && result.note ? ` (${result.note})` : ''
  return `skipped: ${test.module.relativeModuleId} > ${whole.fullName}${why}`
}

function failedLines(modules: readonly TestModule[], unhandled: Unhandled): string[] {
  const lines: string[] = []
  const add = (where: string, error: { message: string; diff?: string } | undefined) => {
    lines.push(`failed: ${where}: ${(error?.message ?? 'no message').split('\n')[0]}`)
    lines.push(...changedLines(error?.diff ?? ''))
  }
  for (const module of modules) {
    // Its worker exited.
    if (module.state() === 'queued' || module.state() === 'pending')
      add(module.relativeModuleId, { message: 'did not finish' })
    for (const error of module.errors()) add(module.relativeModuleId, error)
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) add(`${module.relativeModuleId} > ${suite.fullName}`, error)
    }
    for (const test of module.children.allTests('failed')) {
      add(`${module.relativeModuleId} > ${test.fullName}`, test.result().errors?.[0])
    }
  }
  for (const error of unhandled) add('outside of a test', { message: error.message ?? String(error) })
  return lines
}

/** Lines that a comparison took away or added. */
function changedLines(diff: string): string[] {
  const changed = stripVTControlCharacters(diff)
    .split('\n')
    .filter((line) => /^[-+] /.test(line))
  // The first two are the legend.
  return changed.slice(2, 10).map((line) => `  ${line.slice(0, 200)}`)
}
