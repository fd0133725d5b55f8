import { expect, it } from 'vitest'
import { diagnose } from '../../../src/domain/diagnosis/diagnose.ts'
import type { Facts } from '../../../src/domain/diagnosis/facts.ts'
import { runtimeSign } from '../../../src/domain/diagnosis/log-signs.ts'
import { withNextStep } from '../../../src/domain/diagnosis/next-step.ts'

/** An app whose CPU is full at the account's limit. */
const full: Facts = {
  nowMs: 0,
  appEnvId: 'env_1',
  kind: 'app',
  port: 8080,
  status: 'RUNNING',
  desiredState: 'running',
  zClouds: 1,
  containers: 2,
  autoscaling: null,
  functionConfig: null,
  current: null,
  latest: null,
  previous: null,
  stoppedAt: null,
  pods: [],
  buildLog: [],
  runtimeLog: [],
  metrics: {
    seconds: 300,
    requestRate: 1,
    rate5xx: 0,
    percent5xx: 0,
    p95Seconds: 2,
    p99Seconds: 2,
    cpuPercent: 99,
    memoryPercent: 10,
    resourceSamples: 30,
  },
  variables: { applied: [], saved: [] },
  pendingFields: [],
  pendingSince: '',
  alerts: [],
  databases: [],
  jobRuns: [],
  takesImagesOnly: false,
  quota: { zCloudLimit: 64, zCloudsUsed: 64, functionMaxScale: 10, showsUsed: true },
  engineProblem: null,
}

it('M2 the usage of the whole account is quoted only to who sees the whole account', () => {
  const quoted = (showsUsed: boolean) => {
    const [first] = diagnose({ ...full, quota: { ...full.quota, showsUsed } })
    expect(first!.cause).toBe('quota')
    return first!.evidence.map(({ text }) => text)
  }
  expect(quoted(true)).toEqual(['zCloudLimit', 'zClouds used'])
  expect(quoted(false)).toEqual(['zCloudLimit'])
})

it('G4 a name from a log line is a short variable name, or no name', () => {
  const named = (message: string, before = '') =>
    runtimeSign(
      [before, message].map((text) => ({ message: text }) as never),
      [],
    )?.variable ?? null
  const long = 'A_'.repeat(33)
  expect(named('SMTP_HOST is not set')).toBe('SMTP_HOST')
  expect(named(`${long}X is not set`)).toBeNull()
  expect(named("KeyError: 'smtp_host'", 'os.environ[name]')).toBe('smtp_host')
  expect(named(`KeyError: '${long}'`, 'os.environ[name]')).toBeNull()
})

const logged = (text: string) => text.split('\n').map((message) => ({ message }) as never)

it('a crash quotes the line that names the error, not the end of its stack', () => {
  const lastTermination = { finishedAt: new Date(0).toISOString(), exitCode: 1, reason: 'Error' }
  const pod = { rolloutId: 'rol_1', desiredState: 'run', status: 'Failed', restartCount: 3, lastTermination }
  const [first] = diagnose({
    ...full,
    quota: { ...full.quota, zCloudsUsed: 2 },
    current: { rolloutId: 'rol_1', version: 1 } as never,
    pods: [pod as never],
    runtimeLog: logged('Error: boom\n    at Timeout.run (/app/server.js:1:97)\n\nNode.js v20.20.2'),
  })
  expect(first!.cause).toBe('crash-loop')
  expect(first!.evidence.map(({ text }) => text)).toEqual(['exit code 1 (Error)', 'Error: boom'])
})

it('a missing variable needs a deployment where no version has served: applying starts nothing', () => {
  const finding = { cause: 'missing-variable', summary: 'It is missing.', fix: null } as never
  const stepOf = (current: Facts['current']) => withNextStep({ ...full, current }, finding).summary
  expect(stepOf(null)).toMatch(/update-app-env-variables, then deploy again\.$/)
  expect(stepOf({ version: 1 } as never)).toMatch(/update-app-env-variables, then apply or deploy again\.$/)
})
