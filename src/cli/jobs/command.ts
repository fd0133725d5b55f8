import type { Client } from '../../client/client.ts'
import { systemClock } from '../../clock.ts'
import type { LogLine } from '../../contract/app-env-reads.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { getJobRun, type JobRunResponse, startJobRun } from '../../contract/jobs.ts'
import { AppError } from '../../errors.ts'
import {
  type Cli,
  type CliCommand,
  connected,
  type Done,
  environmentRef,
  type Options,
  print,
} from '../command.ts'
import { exitCodes } from '../command-io.ts'
import { addDryRun, printDryRun } from '../dry-run.ts'
import { createProgress, type Progress, printable, readableDuration } from '../progress.ts'
import { mayBeCalled } from '../rows/command.ts'
import { addRunFields, withProgram } from './options.ts'
import { endText, settingsReport } from './report.ts'
import { createRunLog, watchRun } from './watch.ts'

/** The context of a command of `longshore jobs`. */
interface Run {
  cli: Cli
  client: Client
  progress: Progress
  signal: AbortSignal
  /** Set once the platform accepted the run; after that an interrupt only stops watching. */
  begun: JobRunResponse | null
}

type Perform = (run: Run, args: readonly string[], options: Options) => Promise<number>

const environmentHint = 'its id or cliEnvName'
const runHint = 'jobs list <environment> shows them'

/** Commands of `longshore jobs` that watch a run, or do more than one operation. */
export function addJobCommands(jobs: CliCommand, cli: Cli, done: Done): void {
  jobs.note(
    'Output of a run goes to standard output and standard error, progress to standard error.\nExit code 0: the run succeeded; 1: it was rejected or did not succeed; 130: Ctrl-C, the run continues.',
  )
  addStartCommand(jobs, cli, done)
  addReadCommands(jobs, cli, done)
  const add = adder(cli, done)
  add(
    jobs
      .command('logs')
      .description('output of a run, of all attempts')
      .argument('<jobRunId>', runHint)
      .option('-f, --follow', 'follow until the run ends'),
    (run, [jobRunId = ''], { follow }) => showLog(run, jobRunId, follow === true),
  )
}

function addReadCommands(jobs: CliCommand, cli: Cli, done: Done): void {
  const add = adder(cli, done)
  add(
    jobs
      .command('settings')
      .description('each setting, its source, and pending changes')
      .argument('<environment>', environmentHint),
    async ({ client, signal }, [environment = '']) => {
      const { effectiveJobConfig } = await client.call(getAppEnv, environmentRef(environment), { signal })
      if (!effectiveJobConfig)
        throw new AppError('invalid', 'Only JOB apps have job settings', { rule: 'E4' })
      print(cli, { effectiveJobConfig }, settingsReport(effectiveJobConfig))
      return exitCodes.done
    },
  )
}

/** Attaches actions to commands; Ctrl-C interrupts them. */
function adder(cli: Cli, done: Done): (command: CliCommand, perform: Perform) => void {
  return (command, perform) =>
    command.runs(cli, done, (args, options) => interruptibly(cli, args, options, perform))
}

function addStartCommand(jobs: CliCommand, cli: Cli, done: Done): void {
  const command = addDryRun(jobs.command('run'))
    .description('start a run, show its output and wait for its end')
    .usage('<environment> [options] [-- program argument...]')
    .note('The program after -- runs without a shell. Without a program, the configured command runs.')
    .takesProgram()
  if (!mayBeCalled(cli, command)) return
  const inputOf = addRunFields(command)
  command.runs(cli, done, async (args, options) => {
    // Parsed before the first request, so that a wrong call starts nothing.
    const input = withProgram(inputOf(args, options), cli.program ?? [], cli.words)
    return interruptibly(cli, args, options, (run) =>
      options.dryRun === true
        ? printDryRun(cli, run.client, startJobRun, input)
        : start(run, input, options.detach === true),
    )
  })
}

/** Ctrl-C gives exit code 130; a started run continues. */
async function interruptibly(
  cli: Cli,
  args: readonly string[],
  options: Options,
  perform: Perform,
): Promise<number> {
  const { client } = await connected(cli)
  const interrupt = new AbortController()
  const stopListening = cli.io.onInterrupt(() => interrupt.abort(new Error('interrupted')))
  const progress = createProgress(cli.io.stderr)
  const run: Run = { cli, client, progress, signal: interrupt.signal, begun: null }
  try {
    return await perform(run, args, options)
  } catch (error) {
    progress.close()
    if (!interrupt.signal.aborted) throw error
    if (run.begun) {
      const { jobRunId } = run.begun
      cli.io.stderr.write(
        `Stopped watching. Run ${jobRunId} continues; longshore jobs cancel ${jobRunId} ends it.\n`,
      )
      if (cli.json) print(cli, { ok: false, interrupted: true, jobRun: run.begun }, [])
    }
    return exitCodes.interrupted
  } finally {
    stopListening()
  }
}

async function start(run: Run, input: Record<string, unknown>, detach: boolean): Promise<number> {
  const { client, progress, signal } = run
  const { jobRun } = await client.call(startJobRun, input, { signal })
  run.begun = jobRun
  if (detach) {
    print(run.cli, { jobRun }, [jobRun.jobRunId])
    return exitCodes.done
  }
  progress.done(`Started run ${jobRun.jobRunId}`)
  return watch(run, jobRun)
}

/** Watches a run until it ends; prints its output on the matching streams. */
async function watch(run: Run, seen: JobRunResponse): Promise<number> {
  const { client, progress, signal } = run
  const onLine = (line: LogLine) => writeLine(run, line)
  const jobRun = await watchRun({ client, jobRun: seen, progress, clock: systemClock, signal, onLine })
  const ok = jobRun.status === 'SUCCEEDED'
  const took = jobRun.startedAt
    ? ` in ${readableDuration(Date.parse(jobRun.finishedAt ?? '') - Date.parse(jobRun.startedAt))}`
    : ''
  const attempts = jobRun.attempt > 1 ? `, attempt ${jobRun.attempt}` : ''
  if (run.cli.json) print(run.cli, { ok, jobRun }, [])
  else if (ok) progress.done(`Run ${jobRun.jobRunId} succeeded${took}${attempts}`)
  else
    run.cli.io.stderr.write(
      `✗ Run ${jobRun.jobRunId} ${jobRun.status}${took}${attempts}: ${endText(jobRun)}\n`,
    )
  return ok ? exitCodes.done : exitCodes.failed
}

async function showLog(run: Run, jobRunId: string, follow: boolean): Promise<number> {
  const { client, signal } = run
  const { jobRun } = await client.call(getJobRun, { jobRunId }, { signal })
  if (follow && jobRun.finishedAt === null) {
    run.begun = jobRun
    return watch(run, jobRun)
  }
  const lines: LogLine[] = []
  const onLine = (line: LogLine) => void (run.cli.json ? lines.push(line) : writeLine(run, line))
  await createRunLog({ client, jobRun, signal, onLine }).show()
  if (run.cli.json) print(run.cli, { jobRunId, logs: lines }, [])
  return exitCodes.done
}

function writeLine({ cli, progress }: Run, { stream, message }: LogLine): void {
  if (cli.json) {
    progress.line(message)
    return
  }
  // Clear the progress line before the output.
  progress.close()
  cli.io[stream].write(`${printable(message)}\n`)
}
