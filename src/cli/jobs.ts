import { type Client, createClient } from '../client/client.ts'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import type { LogLine } from '../contract/app-env-reads.ts'
import { getAppEnv } from '../contract/app-envs.ts'
import { cancelJobRun, getJobRun, type JobRunAnswer, listJobRuns, startJobRun } from '../contract/jobs.ts'
import { AppError } from '../errors.ts'
import { type CommandIo, errorJson, errorText, exitCodes, processIo, UsageError } from './command-io.ts'
import { type JobsCommand, parseJobsCommand, wantsJson } from './job-options.ts'
import { endText, runReport, runsReport, settingsReport } from './job-report.ts'
import { createRunLog, watchRun } from './job-watch.ts'
import { resolveConnection } from './local-installation.ts'
import { createProgress, type Progress, printable, readableDuration } from './progress.ts'

/** What a command of `longshore jobs` works with. */
interface Run {
  client: Client
  io: CommandIo
  json: boolean
  progress: Progress
  signal: AbortSignal
  /** Set as soon as the platform was told to start a run: from then on an interrupt stops only the watching. */
  begun: JobRunAnswer | null
}

/**
 * `longshore jobs`: resolves to the exit code. 0: done, a run succeeded; 1: refused, or a run did not succeed;
 * 2: a wrong call; 130: Ctrl-C, a run that was started goes on.
 */
export async function runJobs(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  const json = wantsJson(argv)
  try {
    const command = parseJobsCommand(argv, io)
    if (!command) return exitCodes.done
    const connection = await resolveConnection(readConfig(env))
    return await interruptibly(command, createClient({ ...connection, surface: 'cli' }), json, io)
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`Error: ${error.message}.\nSee: longshore jobs --help\n`)
      return exitCodes.usage
    }
    if (json) io.stdout.write(`${JSON.stringify(errorJson(error))}\n`)
    else io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  }
}

async function interruptibly(
  command: JobsCommand,
  client: Client,
  json: boolean,
  io: CommandIo,
): Promise<number> {
  const interrupt = new AbortController()
  const stopListening = io.onInterrupt(() => interrupt.abort(new Error('interrupted')))
  const progress = createProgress(io.stderr)
  const run: Run = { client, io, json, progress, signal: interrupt.signal, begun: null }
  try {
    return await perform(run, command)
  } catch (error) {
    progress.close()
    if (!interrupt.signal.aborted) throw error
    if (run.begun) {
      const { jobRunId } = run.begun
      io.stderr.write(
        `Stopped watching. Run ${jobRunId} goes on; longshore jobs cancel ${jobRunId} ends it.\n`,
      )
      if (json) say(run, { ok: false, interrupted: true, jobRun: run.begun }, [])
    }
    return exitCodes.interrupted
  } finally {
    stopListening()
  }
}

async function perform(run: Run, command: JobsCommand): Promise<number> {
  const { client, signal } = run
  const options = { signal }
  switch (command.what) {
    case 'list': {
      const answer = await client.call(listJobRuns, command.input, options)
      say(run, answer, runsReport(answer.jobRuns, answer.pagination.total, systemClock.wallMs()))
      return exitCodes.done
    }
    case 'get': {
      const answer = await client.call(getJobRun, { jobRunId: command.jobRunId }, options)
      say(run, answer, runReport(answer.jobRun, answer.snapshotFrom, systemClock.wallMs()))
      return exitCodes.done
    }
    case 'run':
      return start(run, command)
    case 'logs':
      return showLog(run, command)
    case 'cancel':
      return cancel(run, command.jobRunId)
    case 'settings': {
      const { effectiveJobConfig } = await client.call(getAppEnv, command.input, options)
      if (!effectiveJobConfig)
        throw new AppError('invalid', 'Only JOB apps have job settings', { rule: 'E4' })
      say(run, { effectiveJobConfig }, settingsReport(effectiveJobConfig))
      return exitCodes.done
    }
  }
}

async function start(run: Run, { input, detach }: JobsCommand & { what: 'run' }): Promise<number> {
  const { client, progress, signal } = run
  const { jobRun } = await client.call(startJobRun, input, { signal })
  run.begun = jobRun
  if (detach) {
    say(run, { jobRun }, [jobRun.jobRunId])
    return exitCodes.done
  }
  progress.done(`Started run ${jobRun.jobRunId}`)
  return watch(run, jobRun)
}

/** Until the run is over; its output goes where its own streams would go. */
async function watch(run: Run, seen: JobRunAnswer): Promise<number> {
  const { client, progress, signal } = run
  const onLine = (line: LogLine) => writeLine(run, line)
  const jobRun = await watchRun({ client, jobRun: seen, progress, clock: systemClock, signal, onLine })
  const ok = jobRun.status === 'SUCCEEDED'
  const took = jobRun.startedAt
    ? ` in ${readableDuration(Date.parse(jobRun.finishedAt ?? '') - Date.parse(jobRun.startedAt))}`
    : ''
  const attempts = jobRun.attempt > 1 ? `, attempt ${jobRun.attempt}` : ''
  if (run.json) say(run, { ok, jobRun }, [])
  else if (ok) progress.done(`Run ${jobRun.jobRunId} succeeded${took}${attempts}`)
  else
    run.io.stderr.write(`✗ Run ${jobRun.jobRunId} ${jobRun.status}${took}${attempts}: ${endText(jobRun)}\n`)
  return ok ? exitCodes.done : exitCodes.failed
}

async function showLog(run: Run, { jobRunId, follow }: JobsCommand & { what: 'logs' }): Promise<number> {
  const { client, signal } = run
  const { jobRun } = await client.call(getJobRun, { jobRunId }, { signal })
  if (follow && jobRun.finishedAt === null) {
    run.begun = jobRun
    return watch(run, jobRun)
  }
  const lines: LogLine[] = []
  const onLine = (line: LogLine) => void (run.json ? lines.push(line) : writeLine(run, line))
  await createRunLog({ client, jobRun, signal, onLine }).show()
  if (run.json) say(run, { jobRunId, logs: lines }, [])
  return exitCodes.done
}

async function cancel(run: Run, jobRunId: string): Promise<number> {
  const answer = await run.client.call(cancelJobRun, { jobRunId }, { signal: run.signal })
  const { status } = answer.jobRun
  const text =
    status === 'CANCELED'
      ? `Run ${jobRunId} is canceled; its container is stopped.`
      : `Run ${jobRunId} was over already: ${status}.`
  say(run, answer, [text])
  return exitCodes.done
}

function writeLine({ io, json, progress }: Run, { stream, message }: LogLine): void {
  if (json) {
    progress.line(message)
    return
  }
  // A line that is being updated must not stand before it.
  progress.close()
  io[stream].write(`${printable(message)}\n`)
}

function say({ io, json }: Run, answer: unknown, lines: readonly string[]): void {
  io.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${lines.join('\n')}\n`)
}
