import { stripVTControlCharacters } from 'node:util'
import type { Reporter } from 'vitest/node'

/**
 * Prints one line for each failed test as the last output of a run, so that a log that keeps only its end still names
 * what failed: file, title, the first line of the error and the first lines that differ.
 */
export default class FailuresReporter implements Reporter {
  onTestRunEnd: Reporter['onTestRunEnd'] = (modules, unhandled) => {
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
    if (lines.length > 0) console.log(`\n${lines.join('\n')}`)
  }
}

/** Lines that a comparison took away or added. */
function changedLines(diff: string): string[] {
  const changed = stripVTControlCharacters(diff)
    .split('\n')
    .filter((line) => /^[-+] /.test(line))
  // The first two are the legend.
  return changed.slice(2, 10).map((line) => `  ${line.slice(0, 200)}`)
}
