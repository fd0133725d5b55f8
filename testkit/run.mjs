// Runs every test tier that this machine can run, then names the tiers that were skipped and why; the reporter names
// skipped tests. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { missing } from './tiers.mjs'

/** A tier is run unless `missing` says what it lacks. */
const tiers = [
  { name: 'unit' },
  { name: 'platform' },
  { name: 'real' },
  { name: 'long', missing: 'takes as long again: npm run test:long; CI runs it' },
  { name: 'kubernetes', missing: missing.kubernetes },
  { name: 'browser', projects: ['browser', 'budget'], missing: missing.browser },
]

const wanted = tiers.filter(({ missing }) => !missing)
const projects = wanted
  .flatMap(({ name, projects = [name] }) => projects)
  .flatMap((project) => ['--project', project])
const { status } = spawnSync('npx', ['vitest', 'run', ...projects, ...process.argv.slice(2)], {
  stdio: 'inherit',
})
for (const { name, missing } of tiers) if (missing) console.log(`skipped: ${name} tier (${missing})`)
process.exit(status ?? 1)
