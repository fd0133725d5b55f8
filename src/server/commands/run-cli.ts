import { CommanderError } from 'commander'
import type { Cli } from '../../cli/command.ts'
import {
  type CommandIo,
  errorJson,
  errorText,
  exitCodes,
  processIo,
  UsageError,
} from '../../cli/command-io.ts'
import { inShellWords } from '../../cli/rows/words.ts'
import { refuseUnknownSettings } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { createProgram } from './program.ts'

/** Runs one command line: resolves to the exit code. 0 success, 1 rejected or failed, 2 wrong call, 130 Ctrl-C. */
export async function runCli(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  // `longshore help envs` is `longshore envs --help`.
  if (argv[0] === 'help') return runCli([...argv.slice(1), '--help'], env, io)
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  const program = end < 0 ? null : argv.slice(end + 1)
  const cli: Cli = { env, io, json: words.includes('--json'), words, program, path: '' }
  let code: number = exitCodes.done
  try {
    if (!words.includes('--help') && !words.includes('-h')) refuseUnknownSettings(env)
    const tree = createProgram(cli, (value) => {
      code = value
    })
    await tree.parseAsync([...words], { from: 'user' })
    return code
  } catch (error) {
    // Help was shown: it was requested, or the call was a noun alone.
    if (error instanceof CommanderError) return exitCodes.done
    return report(error, cli)
  }
}

function report(error: unknown, { io, json, path }: Cli): number {
  const isUsage = error instanceof UsageError
  if (json) io.stdout.write(`${JSON.stringify({ ok: false, ...errorJson(error) })}\n`)
  if (isUsage) {
    io.stderr.write(
      `Error: ${error.message.replace(/(?<![.?])$/, '.')}\nSee: ${['longshore', error.path || path, '--help'].filter(Boolean).join(' ')}\n`,
    )
    return exitCodes.usage
  }
  if (!json)
    io.stderr.write(
      `${isFault(error) ? String((error as Error).stack ?? error) : inShellWords(errorText(error))}\n`,
    )
  return exitCodes.failed
}

/** Any other error is a bug of this program, so its stack is printed. */
function isFault(error: unknown): boolean {
  return !(error instanceof AppError)
}
