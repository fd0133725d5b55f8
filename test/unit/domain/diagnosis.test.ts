import { expect, it } from 'vitest'
import { diagnose } from '../../../src/domain/diagnosis/diagnose.ts'
import type { Facts } from '../../../src/domain/diagnosis/facts.ts'
import { runtimeSign } from '../../../src/domain/diagnosis/log-signs.ts'
import { withNextStep } from '../../../src/domain/diagnosis/next-step.ts'
import { fullApp as full } from '../../../testkit/diagnosis/full-app.ts'

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
      servesSince: '2026-05-01T00:00:00.000Z',
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

it('a pending change names fields and variables, and says which have a new value at their source', () => {
  const names = ['A', 'B', 'C', 'D', 'E', 'F', 'G']
  const pending = (of: Partial<Facts>) => {
    const latest = { status: 'DEPLOYED', version: 1 } as never
    const found = diagnose({ ...full, latest, pendingFields: ['zClouds', 'envVars'], ...of })
    const { summary, evidence } = found.find(({ cause }) => cause === 'pending-change')!
    return [summary, evidence[0]?.text]
  }
  expect(pending({ pendingVariables: names.slice(0, 2) })).toEqual([
    '2 saved settings are not in force.',
    'zClouds, envVars (A, B)',
  ])
  expect(pending({ pendingVariables: names, refreshed: ['B'] })).toEqual([
    '2 saved settings are not in force. 1 variable has a new value at the source.',
    'zClouds, envVars (A, B, C, D, E and 2 more)',
  ])
  expect(pending({})[1], 'only their order').toBe('zClouds, envVars')
})

/** The first finding on a version whose only container ends again and again. */
function crash(of: Partial<Facts>) {
  const lastTermination = { finishedAt: new Date(0).toISOString(), exitCode: 1, reason: 'Error' }
  const pod = {
    ...{ name: 'shop-1', rolloutId: 'rol_1', desiredState: 'run', status: 'Failed' },
    ...{ restartCount: 3, lastTermination },
  }
  const [first] = diagnose({
    ...full,
    quota: { ...full.quota, zCloudsUsed: 2 },
    serving: { rolloutId: 'rol_1', version: 1 } as never,
    pods: [pod as never],
    ...of,
  })
  return first!
}

it.each([
  ['a stack', 'Error: boom\n    at Timeout.run (/app/server.js:1:97)\n\nNode.js v20.20.2', 'Error: boom'],
  [
    'properties of the error',
    "Error: EPIPE: broken pipe, write\n    at f (/app/server.js:1:97) {\n  errno: -32,\n  code: 'EPIPE',\n  cause: {\n    a: 1\n  }\n}\n\nNode.js v20.20.2",
    'Error: EPIPE: broken pipe, write',
  ],
  ['an object that it printed itself', 'failed with {\n  reason: 7\n}', '}'],
])('a crash quotes the line that names the error, not the end of %s', (_name, output, quoted) => {
  const { cause, evidence } = crash({ crashLog: logged(output) })
  expect(cause).toBe('crash-loop')
  expect(evidence.map(({ text }) => text)).toEqual(['shop-1: exit code 1 (Error)', quoted])
})

it('a container that runs and takes no requests has failing checks, with what the check got', () => {
  const unhealthy = { reason: 'failing-checks', message: 'was answered with 500', since: now }
  const pod = { rolloutId: 'rol_1', desiredState: 'run', status: 'Running', ready: false, restartCount: 0 }
  const diagnosed = (pods: object[]) =>
    diagnose({
      ...full,
      quota: { ...full.quota, zCloudsUsed: 2 },
      serving: { rolloutId: 'rol_1', version: 1 } as never,
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
    const facts = { ...full, nowMs: 60_000, serving: current as never, pods: [pod as never] }
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

const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
const quiet: Facts = { ...full, nowMs: 600_000, quota: { ...full.quota, zCloudsUsed: 2 }, metrics: null }
const serving = { rolloutId: 'rol_1', version: 3, createdAt: iso(0) } as never
const request = (change: object) => ({
  ...{ at: iso(590), container: 'shop-1', method: 'GET', path: '/orders', status: 500, durationMs: 20 },
  ...{ refused: null, oneIn: 1 },
  ...change,
})
const traffic = (requests: number, failed: number, unanswered = 0) => ({
  ...{ seconds: 60, requests, failed, unanswered },
})

it('three time-outs name the requests: method, path, status, container', () => {
  const refused = 'Response start timed out'
  const timedOut = request({ path: '/report', status: 504, durationMs: 60_010, refused })
  const [first] = diagnose({
    ...quiet,
    serving,
    traffic: traffic(20, 3),
    requests: [timedOut, timedOut, { ...timedOut, at: iso(599) }],
  })
  expect(first).toMatchObject({ cause: 'request-timeout', confidence: 'certain', since: iso(590) })
  expect(first!.evidence[1]).toEqual({
    source: 'request',
    at: iso(599),
    text: 'GET /report: 504 (Response start timed out) after 60.0 s, container shop-1, 3 requests',
  })
})

it('streams that timeoutSeconds cuts have that limit as their cause, not the one for the first byte', () => {
  const cut = request({ status: 504, durationMs: 60_010, refused: 'Request timed out', cut: 'timeout' })
  const functionConfig = { timeoutSeconds: 60, responseStartTimeoutSeconds: 5 } as never
  const facts = { ...quiet, serving, functionConfig, traffic: traffic(4, 3) }
  const [first] = diagnose({ ...facts, requests: [cut, cut, cut] })
  expect(first).toMatchObject({ cause: 'request-timeout' })
  expect(first!.summary).toContain('cut at timeoutSeconds (60 s)')
  const unbegun = { ...cut, cut: null }
  expect(diagnose({ ...facts, requests: [unbegun, unbegun, cut] })[0]!.summary).toContain('take the 5 s')
})

it('unanswered requests are a finding; a few failures among many requests are none', () => {
  const left = request({ status: null, durationMs: 4_000 })
  const cause = (counts: ReturnType<typeof traffic>, requests: object[] = [left]) =>
    diagnose({ ...quiet, serving, traffic: counts, requests: requests as never })[0]?.cause
  expect(cause(traffic(10, 0, 4))).toBe('unanswered-requests')
  expect(cause(traffic(10, 0, 4), [])).toBe('unanswered-requests')
  expect(cause(traffic(10, 4), [request({})])).toBe('error-burst')
  expect(cause(traffic(1_000, 4, 4))).toBeUndefined()
  expect(cause(traffic(2, 2))).toBeUndefined()
})

it('errors of the last minute are not explained by what the program printed before', () => {
  const cause = (printedAt: number) => {
    const line = { timestamp: iso(printedAt), message: 'Error: connect ECONNREFUSED 10.0.0.9:5432' } as never
    return diagnose({ ...quiet, serving, traffic: traffic(10, 9), requests: [], servingLog: [line] })[0]!
      .cause
  }
  expect(cause(595)).toBe('dependency-refused')
  expect(cause(400)).toBe('error-burst')
})

it('a source that changed after the deployment is the first cause of what its old value breaks, and applying heals it', () => {
  const line = {
    timestamp: iso(595),
    message: 'FATAL: password authentication failed for user "app"',
  } as never
  const facts = { ...quiet, serving, latest: serving, traffic: traffic(10, 9), servingLog: [line] }
  const rotated = { pendingFields: ['envVars'], pendingSince: iso(500), refreshed: ['DATABASE_URL'] }
  expect(diagnose({ ...facts, pendingFields: ['envVars'] })[0]!.cause).toBe('dependency-refused')
  const found = diagnose({ ...facts, ...rotated })
  expect(found.map(({ cause }) => cause)).toEqual(['pending-change'])
  expect(found[0]).toMatchObject({
    severity: 'critical',
    fix: { operation: 'apply-app-env-changes', safe: true },
    evidence: [
      { source: 'setting', text: 'not in force: DATABASE_URL' },
      { source: 'metric' },
      { source: 'log' },
    ],
  })
})

it('a loop began with its first exit, and its evidence is the output of the container that ended', () => {
  const pod = (name: string, at: number) => ({
    ...{ name, rolloutId: 'rol_1', desiredState: 'run', status: 'Running', ready: true, restartCount: 4 },
    ...{ lastTermination: { finishedAt: iso(at), exitCode: 1, reason: 'Error' }, loopSince: iso(at - 3_000) },
  })
  const [first] = diagnose({
    ...quiet,
    serving,
    pods: [pod('shop-1', 500), pod('shop-2', 590)] as never,
    crashLog: logged('Error: boom'),
    servingLog: logged('all is well'),
  })
  expect(first).toMatchObject({ cause: 'crash-loop', since: iso(-2_500), severity: 'warning' })
  expect(first!.evidence.map(({ text }) => text)).toEqual(['shop-2: exit code 1 (Error)', 'Error: boom'])
})

it('a version that listens elsewhere is known while it starts, beside what serves or alone', () => {
  const latest = { rolloutId: 'rol_2', version: 4, status: 'DEPLOYING', createdAt: iso(590) } as never
  const listensElsewhere = { message: 'The app listens on 0.0.0.0:3000.', since: iso(597) }
  const pod = { name: 'shop-9', rolloutId: 'rol_2', desiredState: 'run', ready: false, restartCount: 0 }
  const facts = { ...quiet, latest, pods: [{ ...pod, startedAt: iso(591), listensElsewhere } as never] }
  const [alone] = diagnose(facts)
  expect(alone).toMatchObject({ cause: 'wrong-port', severity: 'critical', since: iso(597) })
  const [beside] = diagnose({ ...facts, serving })
  expect(beside).toMatchObject({
    severity: 'warning',
    summary: expect.stringContaining('Version 3 still serves.'),
  })
})

it('a full function is found while requests only wait, and not when they are slow by themselves', () => {
  const pod = {
    ...{ name: 'fn-1', rolloutId: 'rol_1', desiredState: 'run', ready: true },
    ...{ restartCount: 0, lastTermination: null, startedAt: null },
  } as never
  const functionConfig = { containerConcurrency: 5, maxScale: 1, minScale: 1 } as never
  const facts: Facts = {
    ...quiet,
    kind: 'function',
    functionConfig,
    serving,
    pods: [pod],
    quota: { ...quiet.quota, zCloudsUsed: 3 },
    metrics: { ...full.metrics!, p95Seconds: 8, p99Seconds: 9 },
    traffic: { seconds: 60, requests: 600, failed: 0, unanswered: 0 },
    meanSeconds: 4,
  }
  const [first] = diagnose(facts)
  expect(first).toMatchObject({
    cause: 'concurrency-saturated',
    summary: expect.stringContaining('requests wait for a place'),
    fix: { operation: 'update-function-config', input: { maxScale: 2 }, safe: true },
  })
  // Ten a second of 0.5 s are five at a time: all it can hold, and none waits.
  expect(diagnose({ ...facts, meanSeconds: 0.5 })).toEqual([])
  expect(diagnose({ ...facts, meanSeconds: null })).toEqual([])
})
