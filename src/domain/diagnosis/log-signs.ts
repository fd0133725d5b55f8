import type { LogLine } from '../../contract/app-env-reads.ts'
import type { DiagnosisCause } from '../../contract/diagnosis.ts'
import { variableName } from '../../contract/variables.ts'
import { withoutCommands } from './log-echo.ts'

/** A cause that output of a program names, and the line that does. */
export interface LogSign {
  cause: DiagnosisCause
  line: LogLine
  /** The variable that is missing. */
  variable?: string
}

interface Pattern {
  cause: DiagnosisCause
  matches: RegExp
}

/** Node prints ten frames between a sentence and its code. */
const stackLines = 16
/** Characters of a line that the patterns read: some are quadratic, and tenants choose the lines. */
const mostSeen = 1_000

/** The order decides where one line fits several. */
const runtimePatterns: readonly Pattern[] = [
  {
    cause: 'disk-full',
    matches: /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded|disk (?:is )?full/i,
  },
  {
    cause: 'out-of-memory',
    matches:
      /heap out of memory|reached heap limit|\bMemoryError\b|cannot allocate memory|\bENOMEM\b|OutOfMemoryError|\bout of memory\b|bad_alloc|Array buffer allocation failed/i,
  },
  {
    cause: 'bad-command',
    matches:
      /not found in \$?PATH|can't open file '[^']+'|missing script:|exec format error|command not found|^\S*sh: (?:\d+: |line \d+: )?\S+: (?:not found|No such file)|exec[a-z]*: [^:]*: (?:no such file|not found|permission denied)|\bexec \S+ failed: (?:No such file|Permission denied)|can't cd to |\bcd: \S+: No such file|cannot find the (?:command|executable)|spawn \S+ (?:ENOENT|EACCES)/i,
  },
  {
    cause: 'missing-module',
    matches:
      /cannot find (?:module|package) |ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|\bModuleNotFoundError\b|no module named |cannot import name |cannot open shared object file|could not load the "[^"]+" module|ClassNotFoundException|NoClassDefFoundError|cannot load such file/i,
  },
  {
    cause: 'dependency-refused',
    matches:
      /\bECONNREFUSED\b|\bconnect ENOENT\b|connection refused|\bENOTFOUND\b|\bEAI_AGAIN\b|getaddrinfo|name or service not known|temporary failure in name resolution|could not connect to server|can't connect to |ServerSelection(?:Timeout)?Error|\bEHOSTUNREACH\b|\bENETUNREACH\b|\bETIMEDOUT\b|no route to host|authentication failed|access denied for user|\bWRONGPASS\b|\bNOAUTH\b/i,
  },
  { cause: 'wrong-port', matches: /\bEADDRINUSE\b|address already in use/i },
  {
    cause: 'missing-file',
    matches:
      /\bENOENT: no such file or directory, \w+|\bFileNotFound(?:Error|Exception)\b|\bNoSuchFileException\b|\b(?:open|stat|lstat) \S+: no such file or directory|failed to open stream: No such file|cannot (?:access|stat|open) '?[^':]+'?: No such file/i,
  },
]

const buildPatterns: readonly Pattern[] = [
  { cause: 'disk-full', matches: runtimePatterns[0]!.matches },
  {
    cause: 'build-out-of-memory',
    matches:
      /heap out of memory|reached heap limit|\bMemoryError\b|cannot allocate memory|\bENOMEM\b|OutOfMemoryError|\bout of memory\b|bad_alloc|signal: killed|^killed$|(?:exit(?:ed)?|code|status)\D{0,20}\b137\b|virtual memory exhausted/i,
  },
  {
    cause: 'lock-file',
    matches:
      /(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|pipfile\.lock|uv\.lock|gemfile\.lock|composer\.lock|cargo\.lock|go\.sum)[^\n]*(?:\b(?:in|of) sync\b|out of date|outdated|missing|not (?:up to date|compatible)|needs to be updated|no longer|does not|doesn't|with an existing)|existing package-lock\.json|missing go\.sum entry|not up to date with \S*package\.json|lock ?file [^\n]{0,40}(?:needs to be updated|would have been (?:created|modified)|is out of date|is outdated|not up to date|does not match|is frozen)|OUTDATED_LOCKFILE|NO_LOCKFILE|pyproject\.toml changed significantly/i,
  },
  {
    cause: 'missing-file',
    matches:
      /\bENOENT: no such file or directory, \w+|"\/[^"]*": not found|\b(?:COPY|ADD) failed: |\b(?:COPY|ADD) \S+: [^\n]*(?:no such|not found|not in the source)|\bFileNotFoundError\b/i,
  },
]

/**
 * The cause that a program's output suggests: the sign nearest to its end. `volumePath`: a path at which the program does
 * not see its volume. `dataPath`: where it does; the image need not contain the files there.
 */
export function runtimeSign(
  all: readonly LogLine[],
  variables: readonly string[],
  volumePath: string | null = null,
  dataPath: string | null = null,
): LogSign | null {
  const lines = printedLines(all)
  const text = lines.map(({ message }) => message).join('\n')
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index]!
    if (volumePath !== null && opensPath(line.message, volumePath)) return { cause: 'volume-path', line }
    const fitting = runtimePatterns.find(({ matches }) => matches.test(line.message))
    const isData = fitting?.cause === 'missing-file' && dataPath !== null && opensPath(line.message, dataPath)
    if (fitting && !isData) {
      const cause = entryIsMissing(line, text) ? 'bad-command' : fitting.cause
      return { cause, line: sentenceOf(lines, index, fitting) }
    }
    const variable = missingVariable(line.message, text)
    if (variable !== null && !variables.includes(variable))
      return { cause: 'missing-variable', line, variable }
  }
  return null
}

const cannotOpen =
  /\b(?:ENOENT|EACCES|EPERM|EROFS)\b|no such file or directory|permission denied|read-only file system/i

/** Whether a line reports that a path, or one below it, cannot be opened or made. */
function opensPath(message: string, path: string): boolean {
  const words = cannotOpen.test(message) ? message.split(/['"`\s:,;()]+/) : []
  return words.some((word) => word === path || word.startsWith(`${path}/`))
}

/** Lines as programs printed them: commands that builders, shells and package managers repeat are no output. */
function printedLines(all: readonly LogLine[]): LogLine[] {
  return all.flatMap((line) => {
    const message = withoutCommands(line.message.slice(0, mostSeen))
    return message === '' ? [] : [{ ...line, message }]
  })
}

/** A stack ends with a bare error code; the sentence that explains it stands a few lines above. */
function sentenceOf(lines: readonly LogLine[], index: number, { matches }: Pattern): LogLine {
  const above = lines.slice(Math.max(0, index - stackLines), index + 1)
  return above.find(({ message }) => matches.test(message))!
}

export function buildSign(all: readonly LogLine[]): LogSign | null {
  const lines = printedLines(all)
  for (const { cause, matches } of buildPatterns) {
    const line = [...lines].reverse().find(({ message }) => matches.test(message))
    if (line) return { cause, line }
  }
  return null
}

/** Node reports a missing entry file like a missing module; only then no file requires it. */
function entryIsMissing({ message }: LogLine, text: string): boolean {
  if (!/cannot find module|MODULE_NOT_FOUND/i.test(message)) return false
  return /Cannot find module '(?:\/|[A-Za-z]:\\)/.test(text) && !/Require stack:|imported from/.test(text)
}

const upperName = /(?<![\w-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z]{4}[A-Z0-9]*)(?![\w-])/g
const lacks =
  /\b(?:not set|isn't set|unset|not defined|undefined|missing|required|must be (?:set|provided|defined)|has to be set|needs? to be set|not (?:provided|configured|found|given|specified)|no value|needs? a value|is empty|expected)\b/i
const noVariable =
  /^(?:PATH|E[A-Z]+|ERR_\w+|ERROR|FATAL|WARN|WARNING|INFO|DEBUG|TRACE|CRITICAL|HTTP|HTTPS|NULL|JSON|TYPE|POST|HEAD|NODE_MODULES|MODULE_NOT_FOUND)$/

/** Characters of a name; a longer one is rather a sentence. */
const longestName = 64

/** The name of a variable that a line reports as missing; null if it reports none. */
function missingVariable(message: string, text: string): string | null {
  const keyError = /^KeyError: '([A-Za-z_]\w*)'/.exec(message)
  if (keyError && /\benviron\b/.test(text)) return isName(keyError[1]!) ? keyError[1]! : null
  if (!lacks.test(message)) return null
  const names = [...message.matchAll(upperName)].map((match) => match[1]!)
  return names.find((name) => !noVariable.test(name) && isName(name)) ?? null
}

function isName(name: string): boolean {
  return name.length <= longestName && variableName.safeParse(name).success
}
