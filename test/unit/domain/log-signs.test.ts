import { describe, expect, it } from 'vitest'
import { breakOf, burstOf, newestEpisode, rankChanges } from '../../../src/domain/diagnosis/changes.ts'
import { buildSign, runtimeSign } from '../../../src/domain/diagnosis/log-signs.ts'

const linesOf = (text: string) =>
  text.split('\n').map((message) => ({
    timestamp: '2026-11-01T00:00:00.000Z',
    stream: 'stderr' as const,
    type: 'RUNTIME' as const,
    podName: null,
    contentId: null,
    message,
  }))
const signOf = (text: string, variables: string[] = []) => runtimeSign(linesOf(text), variables)

describe('what output of a program says of the cause', () => {
  it.each([
    [
      "Error: Cannot find module 'left-pad'\nRequire stack:\n- /app/server.js\n  code: 'MODULE_NOT_FOUND',",
      'missing-module',
    ],
    [
      "Error: Cannot find module '/app/serve.js'\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []",
      'bad-command',
    ],
    ["ModuleNotFoundError: No module named 'flask'", 'missing-module'],
    [
      'node: error while loading shared libraries: libvips.so.42: cannot open shared object file',
      'missing-module',
    ],
    ["    url = os.environ['DATABASE_URL']\nKeyError: 'DATABASE_URL'", 'missing-variable'],
    ['Invalid environment: SMTP_HOST: Required', 'missing-variable'],
    ['FATAL: the ledger ATE_IT is not set', 'missing-variable'],
    ['Error: connect ECONNREFUSED 10.0.0.7:5432', 'dependency-refused'],
    ['psycopg.OperationalError: connection failed: Connection refused', 'dependency-refused'],
    ['MongoServerSelectionError: getaddrinfo ENOTFOUND mongo', 'dependency-refused'],
    ['OSError: [Errno 28] No space left on device', 'disk-full'],
    ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory', 'out-of-memory'],
    ['sh: 1: gunicorn: not found', 'bad-command'],
    ['[FATAL tini (7)] exec gunicorn failed: No such file or directory', 'bad-command'],
    ["sh: 1: cd: can't cd to /srv/shop", 'bad-command'],
    ['bash: line 1: cd: /srv/shop: No such file or directory', 'bad-command'],
    ['[cannot start gunicorn: not found in PATH]', 'bad-command'],
    ['npm error Missing script: "start"', 'bad-command'],
    ['Error: listen EADDRINUSE: address already in use :::3000', 'wrong-port'],
    ["Error: ENOENT: no such file or directory, open '/app/public/index.html'", 'missing-file'],
    ["FileNotFoundError: [Errno 2] No such file or directory: 'public/index.html'", 'missing-file'],
    ['panic: open public/index.html: no such file or directory', 'missing-file'],
    ['Error: connect ENOENT /var/run/postgresql/.s.PGSQL.5432', 'dependency-refused'],
    ['Error: spawn chromium ENOENT', 'bad-command'],
  ])('%j', (text, cause) => {
    expect(signOf(text)?.cause).toBe(cause)
  })

  it('the sign nearest to the end counts, and the sentence above a bare code is quoted', () => {
    const text =
      "connect ECONNREFUSED, going on without a cache\nError: Cannot find module 'x'\nRequire stack:\n  code: 'MODULE_NOT_FOUND',"
    expect(signOf(text)?.line.message).toBe("Error: Cannot find module 'x'")
    const frames = '    at load (node:internal/modules/cjs/loader:1207:15)\n'.repeat(10)
    const full = `Error: Cannot find module 'y'\nRequire stack:\n- /app/server.js\n${frames}  code: 'MODULE_NOT_FOUND',`
    expect(signOf(full)?.line.message).toBe("Error: Cannot find module 'y'")
  })

  it.each([
    "Error: ENOENT: no such file or directory, open '/data/notes.json'",
    "Error: EACCES: permission denied, mkdir '/data'",
    "PermissionError: [Errno 13] Permission denied: '/data'",
    'sh: 1: cannot create /data/log: Permission denied',
  ])('a path of its volume, where the program does not see it: %j', (error) => {
    const text = `${error}\n    at open (node:fs:573:18) {\n  code: 'ENOENT',\n  path: '/data/notes.json'\n}`
    const sign = (volumePath: string | null) => runtimeSign(linesOf(text), [], volumePath)
    expect(sign('/data')).toMatchObject({ cause: 'volume-path', line: { message: error } })
    for (const path of ['/database', '/dat', null]) expect(sign(path)?.cause).not.toBe('volume-path')
  })

  it('a variable that the environment has is not missing, and an error code is no variable', () => {
    expect(signOf('API_KEY is not set', ['API_KEY'])).toBeNull()
    expect(signOf('ERROR: undefined is no function')).toBeNull()
    expect(signOf('listening on 8080')).toBeNull()
  })

  it.each([
    [
      'npm error `npm ci` can only install packages when your package.json and package-lock.json or npm-shrinkwrap.json are in sync.',
      'lock-file',
    ],
    ['npm error The `npm ci` command can only install with an existing package-lock.json', 'lock-file'],
    ['ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"', 'lock-file'],
    ['pyproject.toml changed significantly since poetry.lock was last generated.', 'lock-file'],
    ['Killed', 'build-out-of-memory'],
    [
      'process "/bin/sh -c npm run build" did not complete successfully: exit code: 137',
      'build-out-of-memory',
    ],
    ['npm error nospc ENOSPC: no space left on device, write', 'disk-full'],
    ['error Your lockfile needs to be updated, but yarn was run with `--frozen-lockfile`.', 'lock-file'],
    ['error: lockfile had changes, but lockfile is frozen', 'lock-file'],
    ['main.go:4:2: missing go.sum entry for module providing package x', 'lock-file'],
    ["The command '/bin/sh -c npm run build' returned a non-zero code: 137", 'build-out-of-memory'],
    ["[Error: ENOENT: no such file or directory, scandir '/app/public']", 'missing-file'],
    [
      'COPY failed: file not found in build context or excluded by .dockerignore: stat public: file does not exist',
      'missing-file',
    ],
    [
      'failed to compute cache key: failed to calculate checksum of ref a::b: "/public": not found',
      'missing-file',
    ],
  ])('a build: %j', (text, cause) => {
    expect(buildSign(linesOf(text))?.cause).toBe(cause)
  })

  it('an ordinary failure of a build has no sign', () => {
    expect(buildSign(linesOf("src/a.ts(1,1): error TS2304: Cannot find name 'x'."))).toBeNull()
  })
})

describe('G5 what changed', () => {
  const points = (...values: number[]) => values.map((value, index) => ({ t: index * 60_000, value }))

  it('finds the last rise that stays', () => {
    expect(breakOf('ingress_5xx_percent', points(0, 0, 0, 40, 0, 0, 0, 30, 30), 5)).toMatchObject({
      at: new Date(7 * 60_000).toISOString(),
      after: 30,
    })
    expect(breakOf('ingress_5xx_percent', points(0, 1, 0, 2, 1), 5)).toBeNull()
    expect(breakOf('ingress_5xx_percent', points(90, 90, 90), 5)).toBeNull()
  })

  it('a second rise after a long first one begins a new episode', () => {
    const long = Array.from({ length: 25 }, () => 40)
    const broke = breakOf('ingress_5xx_percent', points(0, 0, 0, ...long, 0, 0, 0, 67, 67), 5)
    expect(broke).toMatchObject({
      at: new Date(31 * 60_000).toISOString(),
      before: 0,
      after: 67,
      until: null,
    })
    expect(breakOf('ingress_5xx_percent', points(0, 0, 40, 40, 0), 5)?.until).toBe(
      new Date(4 * 60_000).toISOString(),
    )
  })

  it('the newest episode counts, and of its metrics the plainest', () => {
    const at = (minute: number, metric: 'ingress_5xx_percent' | 'ingress_p95_latency' | 'cpu_percent') => ({
      ...{ metric, at: new Date(minute * 60_000).toISOString(), before: 0, after: 9, until: null },
    })
    const breaks = [at(10, 'ingress_5xx_percent'), at(300, 'ingress_p95_latency'), at(302, 'cpu_percent')]
    expect(newestEpisode(breaks)?.metric).toBe('ingress_p95_latency')
    expect(newestEpisode([])).toBeNull()
  })

  it('a burst of errors counts however short it is, if enough requests failed', () => {
    const point = (t: number, max: number, failures: number) => ({ t, value: max / 30, max, failures })
    const calm = [0, 1, 2, 3, 4, 6, 7].map((t) => point(t, 0, 0))
    const at = (...more: ReturnType<typeof point>[]) =>
      burstOf(
        'ingress_5xx_percent',
        [...calm, ...more].sort((a, b) => a.t - b.t),
        5,
      )?.at
    expect(at(point(5, 90, 20))).toBe(new Date(5).toISOString())
    expect(at(point(5, 90, 20), point(8, 80, 9), point(9, 80, 9))).toBe(new Date(8).toISOString())
    expect(at(point(5, 90, 2))).toBeUndefined()
    const young = [point(0, 0, 0), { ...point(1, 100, 12), value: 92 }]
    expect(burstOf('ingress_5xx_percent', young, 5)?.at).toBe(new Date(1).toISOString())
  })

  it('a deployment just before the break outranks older and later changes', () => {
    const at = (minute: number) => new Date(minute * 60_000).toISOString()
    const change = (minute: number, kind: 'deployment' | 'settings' | 'variables' | 'scale') => ({
      at: at(minute),
      kind,
      what: kind,
      names: [],
      by: null,
    })
    const broke = { metric: 'ingress_5xx_percent' as const, at: at(60), before: 0, after: 50 }
    const ranked = rankChanges(
      [change(61, 'deployment'), change(59, 'deployment'), change(58, 'scale'), change(5, 'settings')],
      broke,
    )
    expect(ranked.map(({ rank }) => rank)).toEqual([null, 1, 2, 3])
    // A variable counts with the deployment that applied it, so it outranks the deployments before that.
    const applied = rankChanges(
      [change(61, 'variables'), change(59, 'deployment'), change(58, 'variables'), change(57, 'deployment')],
      broke,
    )
    expect(applied.map(({ rank }) => rank)).toEqual([null, 1, 2, 3])
  })
})

it('reads lines that a tenant made to be slow within a few milliseconds', () => {
  const slow = ['A'.repeat(8_090), 'exec'.repeat(2_000), 'go.sum'.repeat(1_333)]
  const text = slow.flatMap((one) => Array.from({ length: 60 }, () => `missing ${one}-`)).join('\n')
  const before = process.cpuUsage()
  expect(runtimeSign(linesOf(text), [])).toBe(null)
  expect(buildSign(linesOf(text))).toBe(null)
  // 4 s on an idle machine without the limit.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
})
