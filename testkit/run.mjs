// Runs every test tier that this machine can run, then names the skipped ones and why. Arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { noBrowser } from './chromium.mjs'

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** A tier is run unless `missing` says what it lacks; `partly` names what a tier leaves out. */
const tiers = [
  { name: 'unit' },
  { name: 'platform' },
  {
    name: 'real',
    partly: runs('docker', 'info') ? null : 'tests on the docker engine (Docker does not answer)',
  },
  {
    name: 'long',
    missing: 'takes as long again: npm run test:long; CI runs it',
  },
  {
    name: 'kubernetes',
    missing: process.env.KUBECONFIG ? null : 'no cluster: set KUBECONFIG',
  },
  {
    name: 'browser',
    projects: ['browser', 'budget'],
    missing: noBrowser,
  },
]

const wanted = tiers.filter(({ missing }) => !missing)
const projects = wanted
  .flatMap(({ name, projects = [name] }) => projects)
  .flatMap((project) => ['--project', project])
const { status } = spawnSync('npx', ['vitest', 'run', ...projects, ...process.argv.slice(2)], {
  stdio: 'inherit',
})
for (const { name, missing, partly } of tiers) {
  if (missing) console.log(`skipped: ${name} tier (${missing})`)
  if (partly) console.log(`skipped: ${partly}`)
}
process.exit(status ?? 1)
