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

it('what could not be pulled decides the advice: the base image of a source, an image, or that of a database', () => {
  const advice = (kind: Facts['kind'], type: 'BUILD' | 'IMAGE') => {
    const latest = {
      contentId: 'dep_1',
      version: 1,
      status: 'FAILED' as const,
      type,
      containerImage: null,
      createdAt: '2026-05-01T00:00:00.000Z',
      deployedAt: null,
      failure: { reason: 'image pull', message: 'There is no node:99.' },
      rolloutId: 'rol_1',
      failedAt: null,
      isBuilt: false,
    }
    const facts: Facts = { ...full, kind, status: 'STOPPED', latest }
    const [finding] = diagnose(facts)
    expect(finding!.cause).toBe('image-pull')
    return withNextStep(facts, finding!).summary
  }
  expect(advice('app', 'BUILD')).toMatch(/base image of its Dockerfile.*FROM/)
  expect(advice('app', 'BUILD')).not.toContain('deploy-app-env-image')
  expect(advice('app', 'IMAGE')).toContain('deploy-app-env-image')
  expect(advice('database', 'IMAGE')).toContain('LONGSHORE_DATABASE_IMAGES')
})

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

const now = new Date(0).toISOString()
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

it('a container that runs and takes no requests has failing checks, with what the check got', () => {
  const unhealthy = { reason: 'failing-checks', message: 'was answered with 500', since: now }
  const pod = { rolloutId: 'rol_1', desiredState: 'run', status: 'Running', ready: false, restartCount: 0 }
  const diagnosed = (pods: object[]) =>
    diagnose({
      ...full,
      quota: { ...full.quota, zCloudsUsed: 2 },
      current: { rolloutId: 'rol_1', version: 1 } as never,
      pods: pods as never,
    }).find(({ cause }) => cause === 'failing-checks')
  const failing = { ...pod, lastTermination: null, unhealthy }
  expect(diagnosed([failing])).toMatchObject({
    severity: 'critical',
    since: now,
    evidence: [{ source: 'container', text: 'was answered with 500' }],
  })
  const well = { ...failing, ready: true, unhealthy: null }
  expect(diagnosed([failing, well])).toMatchObject({
    severity: 'warning',
    summary: expect.stringMatching(/^1 of 2 containers of version 1 take no requests/),
  })
  expect(diagnosed([well])).toBeUndefined()
  expect(diagnosed([{ ...failing, desiredState: 'end' }])).toBeUndefined()
})

it('a slow start is measured until the container was ready, not until the stability window was over', () => {
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString()
  const slowStart = (readyAfter: number) => {
    const pod = {
      rolloutId: 'rol_1',
      restartCount: 0,
      ready: true,
      startedAt: at(0),
      readyAt: at(readyAfter),
    }
    const current = { rolloutId: 'rol_1', version: 1, createdAt: at(0), deployedAt: at(readyAfter + 10) }
    const facts = { ...full, nowMs: 60_000, current: current as never, pods: [pod as never] }
    return diagnose(facts).find(({ cause }) => cause === 'slow-start')?.summary
  }
  expect(slowStart(1)).toBeUndefined()
  expect(slowStart(12)).toMatch(/^A container of version 1 took 12 s to accept connections\./)
})

it('a missing variable needs a deployment where no version has served: applying starts nothing', () => {
  const finding = { cause: 'missing-variable', summary: 'It is missing.', fix: null } as never
  const stepOf = (current: Facts['current']) => withNextStep({ ...full, current }, finding).summary
  expect(stepOf(null)).toMatch(/update-app-env-variables, then deploy again\.$/)
  expect(stepOf({ version: 1 } as never)).toMatch(/update-app-env-variables, then apply or deploy again\.$/)
})
