import { counted } from '../amounts.ts'
import { type ProbeLevel, probeFunction } from '../contract/function-probe.ts'
import type { OutputOf } from '../contract/operation.ts'
import {
  type Cli,
  type CliCommand,
  connected,
  type Done,
  environmentRef,
  given,
  print,
  wholeNumber,
} from './command.ts'
import { exitCodes } from './command-io.ts'
import { inShellWords } from './rows/words.ts'

type Probe = OutputOf<typeof probeFunction>

/** `longshore probe`: exit code 1 when a rule is violated, or most requests failed. */
export function addProbeCommand(program: CliCommand, cli: Cli, done: Done): void {
  program
    .command('probe')
    .summary('send a small load to a function and propose its settings')
    .description(
      'Sends a bounded load to a function (at most 20 seconds) and shows cold start, containers added, refusals and latency, and proposes settings. The requests are real ones.',
    )
    .argument('<environment>', 'its id or cliEnvName')
    .option('--path <path>', 'path requested with GET (default /)')
    .addOption(wholeNumber('--requests <n>', 'total requests, at most 2000 (default 300)'))
    .addOption(
      wholeNumber(
        '--concurrency <n>',
        'max concurrent requests, at most 200 (default: just above one container)',
      ),
    )
    .note(
      'Exit code 0: the function answered; 1: the call was rejected, a rule is violated, or most requests failed.',
    )
    .runs(cli, done, async ([environment = ''], { path, requests, concurrency }) => {
      const input = { ...environmentRef(environment), ...given({ path, requests, concurrency }) }
      const { client } = await connected(cli)
      if (!cli.json) cli.io.stderr.write('Probing, at most 20 seconds …\n')
      const probe = await client.call(probeFunction, input)
      print(cli, probe, cli.json ? [] : report(probe))
      return isWell(probe) ? exitCodes.done : exitCodes.failed
    })
}

/** Requests refused without a free slot are caused by the load, so they count neither as good nor as failed. */
function isWell({ checks, levels }: Probe): boolean {
  if (checks.some((check) => check.holds === false)) return false
  const good = levels.reduce((sum, level) => sum + level.ok, 0)
  const bad = levels.reduce((sum, level) => sum + level.answered4xx + level.answered5xx + level.failed, 0)
  return bad <= good
}

/** The report for people: one line a step with a bar for its p95, then the rules, then the proposal. */
export function report(probe: Probe): string[] {
  const cold =
    probe.coldStartSeconds === null
      ? `${counted(probe.containersBefore, 'container')} ran before, so no cold start was measured.`
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
    ...probe.checks.map(
      ({ rule, holds, because }) => `${signs[`${holds}`]} ${rule}  ${inShellWords(because)}`,
    ),
    '',
    `Proposed: containerConcurrency ${probe.proposal.containerConcurrency}, minScale ${probe.proposal.minScale}`,
    ...probe.proposal.because.map((line) => `  ${inShellWords(line)}`),
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
