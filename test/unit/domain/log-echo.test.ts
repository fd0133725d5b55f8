import { describe, expect, it } from 'vitest'
import { generatedDockerfile } from '../../../src/domain/apps/generated-dockerfile.ts'
import type { PackageFacts } from '../../../src/domain/apps/source-facts.ts'
import { buildSign, runtimeSign } from '../../../src/domain/diagnosis/log-signs.ts'

const linesOf = (messages: readonly string[]) =>
  messages.map((message) => ({
    timestamp: '2026-11-01T00:00:00.000Z',
    stream: 'stdout' as const,
    type: 'BUILD' as const,
    podName: null,
    contentId: null,
    message,
  }))

/** How each builder repeats the instructions in its log, and quotes the one that fails. */
const builders: Record<string, (instructions: readonly string[]) => string[]> = {
  'the generated Dockerfile': (all) => [...all],
  'the process engine': (all) => [
    ...all.map((one, index) => `[${index + 1}/${all.length}] ${one}`),
    ...all
      .filter((one) => one.startsWith('RUN'))
      .map((one) => `Dockerfile line 3: ${one} failed with exit code 1:`),
  ],
  'the classic builder': (all) => [
    ...all.map((one, index) => `Step ${index + 1}/${all.length} : ${one}`),
    ...commandsOf(all).map((one) => `The command '/bin/sh -c ${one}' returned a non-zero code: 1`),
    ...all.map((one) => `Step 2/4 "${one}" failed with exit code: 1.`),
  ],
  BuildKit: (all) => [
    ...all.map((one, index) => `#${index + 5} [stage-1 ${index + 1}/${all.length}] ${one}`),
    ...all.map((one, index) => ` => [build ${index + 1}/${all.length}] ${one}  0.2s`),
    ...all.map((one, index) => `Step build ${index + 1}/${all.length} : ${one}`),
    ...all.map((one, index) => `   ${index + 1} | >>> ${one}`),
    ...all.map((one, index) => ` > [${index + 1}/${all.length}] ${one}:`),
    ...commandsOf(all).flatMap((one) => [
      `process "/bin/sh -c ${one}" did not complete successfully: exit code: 1`,
      `executor failed running [/bin/sh -c ${one}]: exit code: 1`,
    ]),
  ],
  shells: (all) =>
    commandsOf(all).flatMap((one) => [`+ ${one}`, `> ${one}`, `$ ${one}`, `npm error command sh -c ${one}`]),
}

const commandsOf = (instructions: readonly string[]) =>
  instructions.filter((one) => one.startsWith('RUN ')).map((one) => one.slice(4))

function* generated(): Generator<string[]> {
  const locks = ['', 'package-lock.json', 'yarn.lock', 'pnpm-lock.yaml', 'npm-shrinkwrap.json']
  const managers = [null, 'npm@10.0.0', 'yarn@1.22.0', 'yarn@4.1.0', 'pnpm@9.1.0']
  for (const preset of ['NODE_JS', 'EXPRESS', 'NEXT_JS', 'STATIC'] as const)
    for (const lock of locks)
      for (const packageManager of managers)
        for (const scripts of [
          { start: 'node s.js' },
          { start: 'node s.js', build: 'vite build', postinstall: 'x' },
        ]) {
          const packageJson: PackageFacts = {
            scripts: scripts as unknown as Record<string, string>,
            main: null,
            packageManager,
            dependencies: new Set(['left-pad']),
            needsWholeSource: false,
          }
          const files = new Set(['package.json', 'index.html', 'public/index.html', lock])
          const options = { nodeImage: 'node:22-slim', buildVariables: ['NPM_TOKEN', 'API_URL'] }
          yield generatedDockerfile(preset, { files, packageJson }, options).trimEnd().split('\n')
        }
}

/** Instructions that people write, with the words of every cause in them. */
const written = [
  'RUN npm ci || (echo "package-lock.json is not in sync" && exit 137)',
  'RUN corepack enable && pnpm install --frozen-lockfile',
  'RUN yarn install --frozen-lockfile --network-timeout 100000',
  'RUN poetry install --no-root # poetry.lock is out of date',
  'RUN node --max-old-space-size=4096 build.js # heap out of memory',
  'RUN df -h | grep "disk full" ; echo ENOSPC no space left on device',
  'RUN test -f public/index.html || echo "ENOENT: no such file or directory, open public"',
  'RUN pip install flask || echo "No module named flask"',
  'RUN ./wait-for db:5432 || echo ECONNREFUSED connection refused',
  'RUN sh -c "gunicorn: not found" ; echo "exec format error"',
  'ENV MESSAGE="DATABASE_URL is not set"',
  'COPY package.json yarn.lock missing ./',
  'CMD ["sh", "-c", "echo EADDRINUSE address already in use"]',
]

describe('a log that contains only the commands of a build', () => {
  it.each(Object.entries(builders))('has no sign of a cause: %s', (_name, echo) => {
    const all = [...generated()]
    expect(all.length).toBeGreaterThan(150)
    for (const instructions of [...all, written]) {
      for (const line of linesOf(echo(instructions))) {
        expect(buildSign([line]), line.message).toBeNull()
        expect(runtimeSign([line], []), line.message).toBeNull()
      }
    }
  })

  it('does not hide what the programs print', () => {
    const log = linesOf([
      '#9 [4/6] RUN corepack enable && pnpm install --frozen-lockfile',
      '#9 1.742 Error: self-signed certificate in certificate chain',
      '#9 ERROR: process "/bin/sh -c corepack enable && pnpm install --frozen-lockfile" did not complete successfully: exit code: 1',
    ])
    expect(buildSign(log)).toBeNull()
    const outdated = '#9 1.7 ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"'
    expect(buildSign([...log, ...linesOf([outdated])])?.cause).toBe('lock-file')
  })

  it('does not take a warning about two lock files for a refused one', () => {
    const warning =
      'warning package-lock.json found. It is advised not to mix package managers in order to avoid resolution inconsistencies caused by unsynchronized lock files.'
    expect(buildSign(linesOf([warning]))).toBeNull()
  })
})
