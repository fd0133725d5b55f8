import type { Reporter } from 'vitest/node'

/**
 * Prints one line for each failed test as the last output of a run, so that a log that keeps only its end still names
 * what failed: file, title and the first line of the error.
 */
export default class FailuresReporter implements Reporter {
  onTestRunEnd: Reporter['onTestRunEnd'] = (modules, unhandled) => {
    const lines: string[] = []
    const add = (where: string, error: { message: string } | undefined) =>
      lines.push(`failed: ${where}: ${(error?.message ?? 'no message').split('\n')[0]}`)
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
