import { describe, expect, it } from 'vitest'
import { buildArguments, sourcePolicy } from '../../../../src/engines/buildkit/command.ts'
import { buildFailure } from '../../../../src/engines/buildkit/failure.ts'
import { BuildProgress } from '../../../../src/engines/buildkit/progress.ts'
import { AppError } from '../../../../src/errors.ts'

const registry = {
  push: 'push.test:5000/apps',
  pull: 'pull.test/apps',
  insecure: true,
  credentialsFile: null,
}
const spec = {
  appEnvId: 'env_a',
  contentId: 'dep_b',
  sourceDir: '/source',
  contextDir: '.',
  dockerfilePath: 'Dockerfile',
  dockerfileContent: null,
  buildArgs: { MODE: 'a=b', TOKEN: 'tip-top-secret', BUILDKIT_SYNTAX: 'evil/frontend', EMPTY: '' },
  secretBuildArgs: ['tip-top-secret', ''],
}
const folders = { contextDir: '/c', dockerfileDir: '/d', policyFile: '/p', metadataFile: '/m' }

describe('the command line of buildctl', () => {
  const args = buildArguments('tcp://builder:1234', registry, spec, folders)

  it('pushes to the region, and keeps the cache of the environment there', () => {
    expect(args).toContain(
      'type=image,name=push.test:5000/apps/longshore/env_a:dep_b,push=true,registry.insecure=true',
    )
    expect(args).toContain(
      'type=registry,ref=push.test:5000/apps/longshore/env_a:cache,registry.insecure=true',
    )
  })

  it('never holds a secret', () => {
    expect(args.join(' ')).not.toContain('tip-top-secret')
    expect(args).toContain('id=TOKEN,env=LONGSHORE_BUILD_SECRET_0')
    expect(args).toContain('build-arg:MODE=a=b')
    expect(args).toContain('build-arg:EMPTY=')
  })

  it('lets no variable change how BuildKit works', () => {
    expect(args.filter((arg) => arg.includes('BUILDKIT_'))).toEqual([
      'build-arg:BUILDKIT_CACHE_MOUNT_NS=env_a',
    ])
  })

  it('denies images of other environments and downloads', () => {
    expect(JSON.stringify(sourcePolicy(registry))).toMatch(
      /push\.test:5000\/apps\/longshore\/\*.*pull\.test\/apps\/longshore\/\*.*http:.*https:.*git:/,
    )
  })
})

describe('the build log', () => {
  it('has the steps, their output by stream, and cached steps, but not what is internal', () => {
    const { lines, feed } = progress()
    feed({ vertexes: [vertex('1', '[internal] load build definition from Dockerfile')] })
    feed({ vertexes: [vertex('2', '[build 2/3] RUN --mount=type=secret,id=longshore-env_a npm ci')] })
    feed({
      logs: [output('2', 1, 'added 1'), output('2', 2, 'a warning\n'), output('2', 1, '2\u001b[32m ok\n')],
    })
    feed({ vertexes: [{ ...vertex('3', '[3/3] COPY . .'), cached: true, completed: 'then' }] })
    feed({ vertexes: [{ ...vertex('3', '[3/3] COPY . .'), cached: true, completed: 'then' }] })
    expect(lines).toEqual([
      'stdout Step build 2/3 : RUN npm ci',
      'stderr a warning',
      'stdout added 12 ok',
      'stdout Step 3/3 : COPY . .',
      'stdout  ---> Using cache',
    ])
  })

  it('joins characters and lines that arrive in pieces, and prints the last one at the end', () => {
    const { lines, feed } = progress()
    const bytes = Buffer.from('größer')
    feed({ vertexes: [vertex('1', '[1/1] RUN x')] })
    feed({ logs: [{ vertex: '1', stream: 1, data: bytes.subarray(0, 3).toString('base64') }] })
    feed({ logs: [{ vertex: '1', stream: 1, data: bytes.subarray(3).toString('base64') }] })
    feed({ vertexes: [{ ...vertex('1', '[1/1] RUN x'), completed: 'then' }] })
    expect(lines.at(-1)).toBe('stdout größer')
  })
})

describe('the reason of a failed build', () => {
  it('names the step, its exit code and the lines that name the error', () => {
    const failed = failedStep('[2/2] RUN npm ci', 'exit code: 1', 'npm error missing: lock file\n')
    expect(buildFailure(failed, '')).toMatchObject({
      reason: 'build step',
      message: 'Step 2/2 "RUN npm ci" failed with exit code: 1.\nnpm error missing: lock file',
    })
  })

  it('says that a killed step took too much memory', () => {
    const failed = failedStep('[2/2] RUN npm ci', 'exit code: 137', '')
    expect(buildFailure(failed, '').message).toMatch(/more memory than a build may\. It printed nothing/)
  })

  it.each([
    [
      'app:1: failed to resolve source metadata for docker.io/library/app:1: docker.io/library/app:1: not found',
      'image pull',
      /^FROM docker\.io\/library\/app:1 failed: .*not found\. Check the name/,
    ],
    [
      'dockerfile parse error on line 3: unknown instruction: FROMM',
      'build step',
      /^Dockerfile line 3: unknown/,
    ],
    [
      'source "https://x.test/a" denied by policy: source denied',
      'build step',
      /^https:\/\/x\.test\/a would be/,
    ],
    [
      'could not resolve image due to policy: source "docker-image://r/longshore/env_b:1" denied by policy',
      'build step',
      /is no image that a build may use/,
    ],
    ['failed to compute cache key: "/nothere": not found', 'build step', /refused: failed to compute/],
  ])('%s', (error, reason, message) => {
    const failure = buildFailure(null, `error: failed to solve: ${error}\n`)
    expect(failure).toMatchObject({ reason, message: expect.stringMatching(message) })
  })

  it.each([
    'error: listing workers for Build: failed to list workers: Unavailable: connection error: desc = "…"',
    'error: failed to solve: failed to push r/longshore/env_a:1: unexpected status from HEAD request: 401 Unauthorized',
  ])('waits when the builder or the registry is away: %s', (output) => {
    const failure = buildFailure(null, output)
    expect(failure).toBeInstanceOf(AppError)
    expect(failure).toMatchObject({ kind: 'unavailable' })
  })
})

function vertex(digest: string, name: string) {
  return { digest, name, started: 'now' }
}

function output(of: string, stream: number, text: string) {
  return { vertex: of, stream, data: Buffer.from(text).toString('base64') }
}

function progress() {
  const lines: string[] = []
  const one = new BuildProgress(
    (message, stream) => lines.push(`${stream} ${message}`),
    (line) => line,
  )
  return { lines, one, feed: (status: object) => expect(one.feed(JSON.stringify(status))).toBe(true) }
}

function failedStep(name: string, code: string, printed: string) {
  const { one, feed } = progress()
  const error = `process "/bin/sh -c x" did not complete successfully: ${code}`
  feed({ vertexes: [vertex('1', name)] })
  feed({ vertexes: [{ ...vertex('2', '[3/3] RUN y'), error: 'x: context canceled' }] })
  feed({ vertexes: [{ ...vertex('1', name), completed: 'then', error }] })
  if (printed) feed({ logs: [output('1', 2, printed)] })
  return one.takeFailed()
}
