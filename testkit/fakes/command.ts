import path from 'node:path'
import { type Clock, sleep } from '../../src/clock.ts'

/** The part of a container that a command uses. */
interface CommandContainer {
  readonly spec: { workingDir?: string | null }
  readonly exited: boolean
  log(stream: 'stdout' | 'stderr', message: string): void
  end(exitCode: number): void
  variable(name: string): string
}

/**
 * Acts out a command (`node -e` prints its arguments): `echo`, `sleep`, `exit` and `pwd`, joined by `;` or `&&`, with `$1` and
 * variables filled in. Through `/bin/sh -lc` the text is split; else the words are one program with its arguments.
 */
export async function runFakeCommand(
  container: CommandContainer,
  argv: readonly string[],
  clock: Clock,
): Promise<void> {
  if (argv[0] === 'node' && argv[1] === '-e') {
    container.log('stdout', argv.slice(3).join(' '))
    return container.end(0)
  }
  const isShell = argv[0] === '/bin/sh' && argv[1] === '-lc'
  const commands = isShell ? (argv[2] ?? '').split(/;|&&/) : [argv.join(' ')]
  const positional = argv.slice(4)
  for (const part of commands) {
    const text = isShell ? filled(part, positional, container) : part
    const [program = '', ...words] = text.trim().split(/\s+/)
    const code = await runWord(container, program, words, clock)
    if (code !== null) return container.end(code)
    if (container.exited) return
  }
  container.end(0)
}

async function runWord(
  container: CommandContainer,
  program: string,
  words: readonly string[],
  clock: Clock,
): Promise<number | null> {
  switch (program) {
    case 'echo':
      container.log(
        words[0] === '>&2' ? 'stderr' : 'stdout',
        words.filter((word) => word !== '>&2').join(' '),
      )
      return null
    case 'pwd':
      container.log('stdout', path.posix.resolve('/app', container.spec.workingDir ?? '/'))
      return null
    case 'sleep':
      await sleep(clock, Number(words[0]) * 1000)
      return null
    case 'exit':
      return Number(words[0] ?? 0)
    default:
      container.log('stderr', `${program}: not found`)
      return 127
  }
}

function filled(text: string, positional: readonly string[], container: CommandContainer): string {
  return text
    .replaceAll('"', '')
    .replace(/\$([1-9])/g, (_all, index: string) => positional[Number(index) - 1] ?? '')
    .replace(/\$([A-Z_]+)/g, (_all, name: string) => container.variable(name))
}
