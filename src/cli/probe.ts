import { parseArgs } from 'node:util'
import { createClient } from '../client/client.ts'
import { readConfig } from '../config.ts'
import { type ProbeLevel, probeFunction } from '../contract/function-probe.ts'
import type { OutputOf } from '../contract/operation.ts'
import { type CommandIo, errorJson, errorText, exitCodes, processIo, UsageError } from './command-io.ts'
import { resolveConnection } from './local-installation.ts'

const usage = `longshore probe <environment> [options]

Sends a bounded load to a function (at most 20 seconds) and shows what it takes: cold start, containers added,
refusals and latency, and the settings these numbers speak for. The requests are real ones.

  <environment>        its id, or its name in URLs
  --path <path>        what is asked for with GET (default /)
  --requests <n>       in all, at most 2000 (default 300)
  --concurrency <n>    most at a time, at most 200 (default: just above one container)
  --json               the answer as JSON

Exit code 0: the function answered; 1: refused, a rule does not hold, or most requests were answered with errors.
`

type Probe = OutputOf<typeof probeFunction>

/** `longshore probe`: resolves to the exit code; 1 when a rule does not hold, or most requests had no good answer. */
export async function runProbe(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  let json = false
  try {
    const { values, positionals } = parsed(argv)
    json = values.json === true
    if (values.help) {
      io.stdout.write(usage)
      return exitCodes.done
    }
    const input = inputOf(values, positionals)
    const client = createClient({ ...(await resolveConnection(readConfig(env))), surface: 'cli' })
    if (!json) io.stderr.write('Probing, at most 20 seconds …\n')
    const probe = await client.call(probeFunction, input)
    io.stdout.write(json ? `${JSON.stringify(probe)}\n` : `${report(probe).join('\n')}\n`)
    return isWell(probe) ? exitCodes.done : exitCodes.failed
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`Error: ${error.message}.\nSee: longshore probe --help\n`)
      return exitCodes.usage
    }
    if (json) io.stdout.write(`${JSON.stringify(errorJson(error))}\n`)
    else io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  }
}

/** What was refused for want of a slot is the load's doing and counts for neither side. */
function isWell({ checks, levels }: Probe): boolean {
  if (checks.some((check) => check.holds === false)) return false
  const good = levels.reduce((sum, level) => sum + level.ok, 0)
  const bad = levels.reduce((sum, level) => sum + level.answered4xx + level.answered5xx + level.failed, 0)
  return bad <= good
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        path: { type: 'string' },
        requests: { type: 'string' },
        concurrency: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function inputOf(values: ReturnType<typeof parsed>['values'], positionals: readonly string[]) {
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('name one environment')
  const { path, requests, concurrency } = values
  return {
    ...(name.startsWith('env_') ? { appEnvId: name } : { envName: name }),
    ...(path === undefined ? {} : { path }),
    ...(requests === undefined ? {} : { requests: wholeNumber('--requests', requests) }),
    ...(concurrency === undefined ? {} : { concurrency: wholeNumber('--concurrency', concurrency) }),
  }
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,6}$/.test(text))
    throw new UsageError(`${flag} takes a whole number, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** What a person reads: a line a step with a bar for its p95, then the rules, then the proposal. */
export function report(probe: Probe): string[] {
  const cold =
    probe.coldStartSeconds === null
      ? `It ran ${probe.containersBefore} before, so no cold start was seen.`
      : `Cold start: ${milliseconds(probe.coldStartSeconds)}.`
  const slowest = Math.max(...probe.levels.map((level) => level.p95Seconds), 0.001)
  const signs = { true: '✓', false: '✗', null: '·' }
  return [
    cold,
    '',
    'at a time  requests/s       p50       p95  refused  4xx  failed  containers',
    ...probe.levels.map((level) => `${row(level)}  ${bar(level.p95Seconds / slowest)}`.trimEnd()),
    ...(probe.cutShort ? ['The time limit of 20 s ended the load early.'] : []),
    '',
    ...probe.checks.map(({ rule, holds, because }) => `${signs[`${holds}`]} ${rule}  ${because}`),
    '',
    `Proposed: containerConcurrency ${probe.proposal.containerConcurrency}, minScale ${probe.proposal.minScale}`,
    ...probe.proposal.because.map((line) => `  ${line}`),
  ]
}

function row(level: ProbeLevel): string {
  const failed = level.failed + level.answered5xx
  const cells: [string | number, number][] = [
    [level.concurrency, 9],
    [level.requestsPerSecond, 12],
    [milliseconds(level.p50Seconds), 10],
    [milliseconds(level.p95Seconds), 10],
    [level.refused, 9],
    [level.answered4xx, 5],
    [failed, 8],
    [level.containers, 12],
  ]
  return cells.map(([value, width]) => String(value).padStart(width)).join('')
}

function milliseconds(seconds: number): string {
  return `${Number((seconds * 1_000).toPrecision(3))} ms`
}

function bar(share: number): string {
  return '█'.repeat(Math.max(1, Math.round(share * 24)))
}
