import { spawnSync } from 'node:child_process'
import { noBrowser } from './chromium.mjs'

/** Why this machine cannot run a tier, by the name of its project in vitest.config.ts. */
export const missing = {
  ...(process.env.KUBECONFIG ? {} : { kubernetes: 'no cluster: set KUBECONFIG' }),
  ...(noBrowser ? { browser: noBrowser, 'long-browser': noBrowser, budget: noBrowser } : {}),
}

/** Tests that do not exist on this machine, as the engine that they loop over is absent; null if there are none. */
export function absentTests(projects) {
  if (!projects.includes('real') && !projects.includes('long')) return null
  const { status } = spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 })
  return status === 0 ? null : 'tests on the docker engine (Docker does not answer)'
}
