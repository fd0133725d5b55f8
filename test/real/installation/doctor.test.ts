import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)
const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
beforeAll(async () => {
  await installation.start()
})
afterAll(() => installation.dispose())

async function doctor() {
  const env = { ...process.env, LONGSHORE_HOME: installation.home, LONGSHORE_ENGINE: 'process' }
  const ended = await run('node', ['dist/longshore.js', 'doctor', '--json'], { env })
    .then(({ stdout }) => ({ stdout, code: 0 }))
    .catch((error: { stdout: string; code: number }) => error)
  return { code: ended.code, report: JSON.parse(ended.stdout) }
}

it('longshore doctor lists what no record owns, while the platform is running', async () => {
  expect(await doctor()).toEqual({ code: 0, report: { isWell: true, orphans: [], problems: [] } })
  const { home } = installation
  for (const folder of [
    'logs/env_gone',
    'engine/volumes/env_gone/data',
    'engine/images/dep_gone',
    'backups/env_gone',
  ])
    mkdirSync(path.join(home, folder), { recursive: true })
  writeFileSync(path.join(home, 'engine/images/dep_gone/environment'), 'env_gone')
  writeFileSync(path.join(home, 'backups/env_gone/bak_gone.dump'), 'rows')
  const { code, report } = await doctor()
  expect(code).toBe(1)
  expect(report.orphans).toEqual(
    [
      ['image', 'dep_gone'],
      ['volume', 'env_gone'],
      ['logs', 'env_gone'],
      ['file', 'backups/env_gone/bak_gone.dump'],
    ].map(([kind, name]) => ({ kind, name, isPending: false })),
  )
})
