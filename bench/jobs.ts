/**
 * Job runs under two schedulers that are ended with `kill -9` again and again, while a fifth of the engine's
 * answers is lost and wall clocks step by an hour. Goals:
 *
 * - exactly one container an attempt and at most `backoffLimit` + 1 attempts; no run forgotten
 * - the limit of active runs never broken; every container billed exactly
 *
 *   npm run bench -- jobs [runs] [kills]            real processes on the process engine; 2,000 and 50
 *   npm run bench -- jobs docker [runs] [kills]     on Docker, whose daemon is not killed; 60 and 8
 *   npm run bench -- jobs simulated [runs] [seed]   in one process on a clock of its own, by a seed
 */
import { runJobChaos } from '../testkit/jobs/chaos.ts'
import { JobStressTest } from '../testkit/jobs/stress-test.ts'

const args = process.argv.slice(2)
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

async function simulated(runs: number, seed: number): Promise<number> {
  const startMs = performance.now()
  const result = await runJobChaos({ runs, crashes: 50, seed })
  say({ ...result, seconds: Math.round((performance.now() - startMs) / 1000) })
  return result.doubled.length + result.tooMany.length + result.overLimit.length + result.forgotten.length
}

async function real(engine: 'process' | 'docker', runs: number, kills: number): Promise<number> {
  const environments = Math.max(4, Math.ceil(runs / 50))
  const stressTest = new JobStressTest({ engine, runs, kills, environments })
  const result = await stressTest.run((figures) =>
    process.stderr.write(`${figures.runs} runs, ${figures.schedulerKills + figures.engineKills} kills\n`),
  )
  say(result)
  const { doubled, tooMany, overLimit, forgotten, wrong, misbilled } = result
  const broken = [doubled, tooMany, overLimit, forgotten, wrong, misbilled].flat().length
  process.stdout.write(
    `${result.runs} runs (${result.attempts} attempts, ${result.witnessed} containers) through ` +
      `${result.schedulerKills} kill -9 of a scheduler and ${result.engineKills} of the engine, ` +
      `${result.lostReplies} lost replies, ${result.clockSteps} clock steps: ${broken} guarantees violated\n`,
  )
  return broken
}

const named = args[0] === 'simulated' || args[0] === 'docker' ? args.shift() : 'process'
const number = (index: number, otherwise: number) => Number(args[index] ?? otherwise)
const broken =
  named === 'simulated'
    ? await simulated(number(0, 2_000), number(1, 1))
    : named === 'docker'
      ? await real('docker', number(0, 60), number(1, 8))
      : await real('process', number(0, 2_000), number(1, 50))
process.exit(broken === 0 ? 0 : 1)
