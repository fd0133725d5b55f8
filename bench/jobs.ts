import { runJobChaos } from '../test/support/job-chaos.ts'

/**
 * 2,000 job runs under two schedulers with a fifth of the engine's answers lost, 50 crashes of a scheduler and clock
 * steps of an hour: prints what was done and which promises were broken (none).
 *
 * Run: npx esbuild bench/jobs.ts --bundle --platform=node --format=esm --packages=external \
 *        --outfile=dist/bench/jobs.mjs && node dist/bench/jobs.mjs [runs] [seed]
 */
const [runs = '2000', seed = '1'] = process.argv.slice(2)
const startMs = performance.now()
const result = await runJobChaos({ runs: Number(runs), crashes: 50, seed: Number(seed) })
const seconds = Math.round((performance.now() - startMs) / 1000)
process.stdout.write(`${JSON.stringify({ ...result, seconds }, null, 2)}\n`)
const broken =
  result.doubled.length + result.tooMany.length + result.overLimit.length + result.forgotten.length
process.exit(broken === 0 ? 0 : 1)
