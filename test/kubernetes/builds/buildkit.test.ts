import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { randomText } from '../../../src/domain/ids.ts'
import { buildWithBuildKit } from '../../../src/engines/buildkit/build.ts'
import { AppError } from '../../../src/errors.ts'
import { cluster, kubectl, newNamespace } from '../../../testkit/kubernetes/cluster.ts'

const { buildkit, buildctl, registry } = cluster
const base = `FROM ${registry}/busybox:1`

interface Wanted {
  files?: Record<string, string>
  buildArgs?: Record<string, string>
  secretBuildArgs?: string[]
  appEnvId?: string
  signal?: AbortSignal
  onLine?: (message: string) => void
  address?: string
}

async function build(dockerfile: string[], wanted: Wanted = {}) {
  const sourceDir = mkdtempSync(path.join(os.tmpdir(), 'longshore-source-'))
  onTestFinished(() => rmSync(sourceDir, { recursive: true, force: true }))
  const files = { Dockerfile: dockerfile.join('\n'), ...wanted.files }
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(sourceDir, name), text)
  const lines: string[] = []
  const { appEnvId = `env_${randomText(20)}`, buildArgs = {}, secretBuildArgs = [] } = wanted
  const attempt = (onLine: (line: { message: string }) => void) =>
    buildWithBuildKit(
      {
        address: wanted.address ?? buildkit!,
        registry: { push: registry!, pull: registry!, insecure: true, credentialsFile: null },
        program: buildctl ?? 'buildctl',
        clock: systemClock,
      },
      {
        ...{ appEnvId, contentId: `dep_${randomText(20)}`, sourceDir, contextDir: '.' },
        ...{ dockerfilePath: 'Dockerfile', dockerfileContent: null, buildArgs, secretBuildArgs },
      },
      onLine,
      wanted.signal ?? new AbortController().signal,
    ).then(
      (built) => built.image,
      (error: unknown) => ({ error }),
    )
  const listen = () => {
    lines.length = 0
    return attempt(({ message }) => {
      lines.push(message)
      wanted.onLine?.(message)
    })
  }
  let image = await listen()
  // As the platform does where builder or registry does not respond as it should.
  for (let again = 0; again < 3 && !wanted.address && isAway(image); again++) image = await listen()
  return { image, lines, log: lines.join('\n') }
}

const isAway = (image: string | { error: unknown }) =>
  typeof image !== 'string' && image.error instanceof AppError && image.error.kind === 'unavailable'

/** What a container of the image prints. */
async function run(image: string | { error: unknown }, ...command: string[]): Promise<string> {
  if (typeof image !== 'string') throw image.error
  const namespace = await newNamespace()
  const container = { name: 'app', image, command }
  await kubectl(['-n', namespace, 'create', '-f', '-'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'one' },
    spec: { restartPolicy: 'Never', containers: [container] },
  })
  const phase = '--for=jsonpath={.status.phase}=Succeeded'
  await kubectl(['-n', namespace, 'wait', phase, 'pod/one', '--timeout=240s'])
  return kubectl(['-n', namespace, 'logs', 'one'])
}

describe.skipIf(!buildkit || !registry)('builds with BuildKit', () => {
  it('pushes an image by digest that the cluster runs, without what .dockerignore leaves out', async () => {
    const { image, lines } = await build([base, 'COPY . /app/', 'RUN echo from the build > /app/made'], {
      files: { 'kept.txt': 'kept', 'left.txt': 'left', '.dockerignore': 'left.txt' },
    })
    expect(image).toMatch(/^[^@]+\/longshore\/env_[a-z2-7]+@sha256:[0-9a-f]{64}$/)
    expect(lines).toContain('Step 3/3 : RUN echo from the build > /app/made')
    const printed = await run(image, '/bin/sh', '-c', 'cat /app/made; ls /app')
    expect(printed).toMatch(/from the build/)
    expect(printed).toMatch(/kept\.txt/)
    expect(printed).not.toMatch(/left\.txt/)
  })

  it('gives a secret variable to the steps after its ARG, and leaves it in no layer, history or log line', async () => {
    const secret = `s3cret-${randomText(20)}`
    const { image, log } = await build(
      [
        base,
        'ARG TOKEN',
        'RUN echo "$TOKEN" && test "$TOKEN" = "$(cat /check)" || echo "$TOKEN" | wc -c > /length',
      ],
      { buildArgs: { TOKEN: secret }, secretBuildArgs: [secret] },
    )
    expect(log).toContain('***')
    expect(log).not.toContain(secret)
    expect(await run(image, '/bin/sh', '-c', 'cat /length; env')).toMatch(/^\s*28\b(?![\s\S]*TOKEN)/)
    expect(await configOf(String(image))).not.toContain(secret)
  })

  it('uses the cache of its environment, and never what another environment built with its secrets', async () => {
    const unique = randomText(20)
    const dockerfile = [base, 'ARG TOKEN', `RUN echo ${unique} "$TOKEN" > /made`]
    const of = (appEnvId: string, token: string) =>
      build(dockerfile, { appEnvId, buildArgs: { TOKEN: token }, secretBuildArgs: [token] })
    const [one, other] = [`env_${randomText(20)}`, `env_${randomText(20)}`]
    const usedCache = ({ log }: { log: string }) => /RUN.*\n ---> Using cache/.test(log)
    expect(usedCache(await of(one, 'token-of-one'))).toBe(false)
    expect(usedCache(await of(one, 'token-of-one'))).toBe(true)
    const { image, log } = await of(other, 'token-of-other')
    expect(usedCache({ log })).toBe(false)
    expect(await run(image, '/bin/cat', '/made')).toBe(`${unique} token-of-other\n`)
  })

  it('explains a failed step as the machine builder does', async () => {
    const { image } = await build([base, 'RUN echo "sh: vite: not found" >&2; exit 127'])
    expect(image).toMatchObject({
      error: {
        reason: 'build step',
        message:
          'Step 2/2 "RUN echo "sh: vite: not found" >&2; exit 127" failed with exit code: 127.\nsh: vite: not found',
      },
    })
  })

  it.each([
    ['an image that does not exist', [`FROM ${registry}/nothere:1`], 'image pull', /nothere:1 failed: /],
    ['an unknown instruction', [base, 'RUNN x'], 'build step', /line 2: unknown instruction/],
    ['a file that is missing', [base, 'COPY nothere /x'], 'build step', /"COPY nothere \/x" failed|refused/],
    ['a download', [base, 'ADD https://example.com/x /x'], 'build step', /would be downloaded/],
    [
      'an image of another environment',
      [`FROM ${registry}/longshore/env_x:1`],
      'build step',
      /no image that a/,
    ],
    [
      'a step from another environment',
      [base, `RUN --mount=from=${registry}/longshore/env_x:1,target=/x ls`],
      'build step',
      /no image that a/,
    ],
    ['a here-document', [base, 'RUN <<EOF', 'echo', 'EOF'], 'build step', /here-document/],
  ])('refuses %s', async (_what, dockerfile, reason, message) => {
    const { image } = await build(dockerfile)
    expect(image).toMatchObject({ error: { reason, message: expect.stringMatching(message) } })
  })

  it('builds with its own frontend, whatever a comment or a variable names', async () => {
    const { image } = await build(['# syntax=nothere.test/frontend:1', base], {
      buildArgs: { BUILDKIT_SYNTAX: 'nothere.test/frontend:2' },
    })
    expect(image).toMatch(/@sha256:/)
  })

  it('has no Dockerfile where the source has none', async () => {
    const { image } = await build([], { files: { Dockerfile: '' } })
    expect(image).toMatchObject({ error: { reason: expect.stringMatching(/build step/) } })
  })

  it('stops when it is aborted', async () => {
    const stop = new AbortController()
    const { image } = await build([base, 'RUN echo begun && sleep 3600'], {
      signal: stop.signal,
      onLine: (message) => message === 'begun' && stop.abort(),
    })
    expect(image).toMatchObject({ error: { reason: 'interrupted' } })
  })

  it('waits while the builder is away', async () => {
    const { image } = await build([base], { address: 'tcp://127.0.0.1:1' })
    expect(image).toMatchObject({ error: { kind: 'unavailable' } })
  })
})

/** Settings and history of an image, from the registry. */
async function configOf(image: string): Promise<string> {
  const [, host, name, digest] = /^([^/]+)\/(.+)@(.+)$/.exec(image)!
  const accept =
    'application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json'
  const read = async (what: string) =>
    (await fetch(`http://${host}/v2/${name}/${what}`, { headers: { accept } })).text()
  const manifest = JSON.parse(await read(`manifests/${digest}`))
  return read(`blobs/${manifest.config.digest}`)
}
