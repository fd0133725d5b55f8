import type { LogLine } from '../../contract/app-env-reads.ts'
import type { Evidence } from '../../contract/diagnosis.ts'
import { isNoise } from './log-noise.ts'

const longestQuote = 160

export function quote(line: LogLine): Evidence {
  const source = line.type === 'BUILD' ? 'build-log' : 'log'
  return { source, at: line.timestamp, text: cutQuote(line.message) }
}

export function cutQuote(text: string): string {
  const line = text.trim()
  return line.length > longestQuote ? `${line.slice(0, longestQuote - 1)}…` : line
}

/** Lines that Node prints below the sentence that names the error. */
const endsStack = /^\s+at |^Node\.js v\d/

/** Node prints the properties of an error in braces, below its stack. */
function withoutProperties(lines: readonly LogLine[]): readonly LogLine[] {
  const end = lines.findLastIndex(({ message }) => !isNoise(message) && !endsStack.test(message))
  if (lines[end]?.message !== '}') return lines
  const begin = lines.slice(0, end).findLastIndex(({ message }) => /^ {4}at .*\{$/.test(message))
  return begin < 0 ? lines : lines.slice(0, begin)
}

/** The last line with information about an error. */
export function lastLine(lines: readonly LogLine[]): Evidence[] {
  const line = withoutProperties(lines).findLast(
    ({ message }) => !isNoise(message) && !endsStack.test(message),
  )
  return line ? [quote(line)] : []
}
