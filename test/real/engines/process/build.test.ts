// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../../../src/engines/engine.ts'
import { processIdentity } from '../../../../src/engines/process/supervisor/proc-tree.ts'
import type { SourceFiles } from '../../../../testkit/builds/sample-sources.ts'
import { messagesOf, ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { until } from '../../../../testkit/engines/suite.ts'

let installation: ProcessInstallation
let engine: Engine
beforeAll(async () => {
  installation = await ProcessInstallation.create()
  engine = await installation.open()
})
afterAll(() => installation.destroy())

const lines = (...text: string[]) => `${text.join('\n')}\n`
const build = (dockerfile: string, files: SourceFiles = {}, options = {}) =>
  installation.build(engine, { Dockerfile: dockerfile, ...files }, options)
const refused = (dockerfile: string, files: SourceFiles = {}) => expect(build(dockerfile, files)).rejects

/** Runs the image until it ends and answers what it printed. */
async function run(image: string, env: Record<string, string> = {}): Promise<string[]> {
  const spec = installation.spec(image, { env, port: null })
  await engine.apply(spec)
  await until(
    'it ended',
    async () =>
      (await engine.list()).find(({ name, state }) => name === spec.name && state === 'exited') ?? null,
  )
  return await messagesOf(engine, spec.name)
}

describe('variables without end', () => {
  it.each(['ARG', 'ENV'])('of %s are refused before anything runs', async (keyword) => {
    const growing = [1, 2, 3].map((level) => `${keyword} W${level}=${`$W${level - 1}`.repeat(90)}`)
    const dockerfile = lines('FROM node', `${keyword} W0=${'x'.repeat(100)}`, ...growing, 'CMD ["x"]')
    await refused(dockerfile).toMatchObject({
      reason: 'build step',
      message: expect.stringMatching(/^Dockerfile line 4: .*64 KiB/),
    })
  })

  it.each([
    ['nested substitutions', lines('FROM node', `ENV A=${'${A:-'.repeat(10_000)}`, 'CMD ["x"]')],
    ['paths in a command', lines('FROM node', `RUN true${' /a'.repeat(2_000)}`, 'CMD ["x"]')],
    ['folders in PATH', lines('FROM node', `ENV PATH=${'/a:'.repeat(2_000)}`, 'CMD ["x"]')],
    ['wildcards', lines('FROM node', `COPY ${'*a'.repeat(3_000)} /x/`, 'CMD ["x"]')],
  ])('%s are refused', async (_what, dockerfile) => {
    await refused(dockerfile).toMatchObject({ reason: 'build step' })
  })
})

describe('FROM', () => {
  it('says which host runtime stands in for the image', async () => {
    const { log } = await build(lines('FROM node:99-alpine', 'CMD ["x"]'))
    expect(log).toContain(`node:99-alpine: this machine’s node ${process.version} stands in for it`)
  })

  it('refuses what is no runtime of this machine and names the engine that can', async () => {
    const error = refused(lines('FROM postgres:16'))
    await error.toMatchObject({
      reason: 'not supported',
      message: expect.stringMatching(/LONGSHORE_ENGINE=docker/),
    })
  })

  it('takes the image that presets start from for a Node, whatever its name', async () => {
    const nodeImage = 'registry.example/ours/js-base:22'
    const mirrored = await installation.open({ nodeImage })
    const files = { Dockerfile: lines(`FROM ${nodeImage}`, 'CMD ["x"]') }
    const { log } = await installation.build(mirrored, files)
    expect(log).toContain(`${nodeImage}: this machine’s node ${process.version} stands in for it`)
    await refused(files.Dockerfile).toMatchObject({ reason: 'not supported' })
  })

  it('takes ARG before FROM, build arguments first', async () => {
    const dockerfile = lines('ARG BASE=postgres', 'FROM ${BASE}:20', 'CMD ["x"]')
    await refused(dockerfile).toMatchObject({ message: expect.stringContaining('FROM postgres:20') })
    await build(dockerfile, {}, { buildArgs: { BASE: 'node' } })
  })

  it('leaves no folder behind when it fails', async () => {
    const images = path.join(installation.home, 'engine', 'images')
    const before = await readdir(images)
    await refused(lines('FROM postgres:16')).toThrow()
    await refused(lines('FROM alpine', 'RUN echo half > half.txt && false', 'CMD ["x"]')).toThrow()
    expect(await readdir(images)).toEqual(before)
  })

  it('refuses nothing to run, unless the base brings a command', async () => {
    await refused(lines('FROM alpine')).toMatchObject({ message: expect.stringContaining('CMD') })
    await build(lines('FROM node'))
  })
})

describe('COPY and ADD', () => {
  const files: SourceFiles = { 'a.txt': 'A', 'b.txt': 'B', 'sub/c.txt': 'C', 'sub/deep/d.txt': 'D' }
  const treeAfter = async (...instructions: string[]) => {
    const { root } = await build(lines('FROM alpine', 'WORKDIR /app', ...instructions, 'CMD ["x"]'), files)
    const names = (await readdir(root, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    return names.filter((name) => !name.endsWith('Dockerfile')).sort()
  }

  it.each<[string, string[]]>([
    ['COPY a.txt x', ['app/x']],
    ['COPY a.txt x/', ['app/x/a.txt']],
    ['COPY a.txt .', ['app/a.txt']],
    ['COPY a.txt /', ['a.txt']],
    ['COPY a.txt b.txt /to/', ['to/a.txt', 'to/b.txt']],
    ['COPY sub /to', ['to/c.txt', 'to/deep/d.txt']],
    ['COPY sub/ ./', ['app/c.txt', 'app/deep/d.txt']],
    ['COPY *.txt ./', ['app/a.txt', 'app/b.txt']],
    ['COPY [ab].txt s*/c.txt ./', ['app/a.txt', 'app/b.txt', 'app/c.txt']],
    ['COPY ["a.txt", "with space/"]', ['app/with space/a.txt']],
    ['COPY --chown=1:1 a.txt .', ['app/a.txt']],
    ['COPY a.txt ../../../up.txt', ['up.txt']],
    ['ADD sub/deep /to', ['to/d.txt']],
    ['ENV TO=/to/x\nCOPY a.txt ${TO}', ['to/x']],
  ])('%s', async (instruction, expected) => {
    expect(await treeAfter(instruction)).toEqual(expected)
  })

  it.each([
    ['COPY ../secret .', /outside/],
    ['COPY nothing* .', /nothing\* is not in the build context/],
    ['COPY a.txt b.txt x', /need a folder/],
    ['COPY a.txt', /needs a source/],
    ['COPY --from=golang:1 /x /y', /LONGSHORE_ENGINE=docker/],
    ['COPY --parents a.txt .', /--parents/],
    ['ADD https://example.com/x .', /does not download/],
    ['ADD x.tar.gz .', /does not unpack/],
    ['COPY sub/c.txt x\nCOPY a.txt x/deep/', /line 3: COPY a.txt x\/deep\/: a file exists where a folder/],
    ['ARG KEY=hidden-1\nCOPY ${KEY}.txt .', /line 3: COPY: \*\*\*SECRET\*\*\*.txt is not/],
    ['ONBUILD RUN x', /ONBUILD/],
    ['WORKDIR ${GONE:?must be given}', /must be given/],
  ])('%s is refused', async (instruction, message) => {
    const options = { secretBuildArgs: ['hidden-1'] }
    await expect(build(lines('FROM alpine', instruction, 'CMD ["x"]'), files, options)).rejects.toThrow(
      message,
    )
  })

  it('never follows a link in the source', async () => {
    const secret = await mkdtemp(path.join(tmpdir(), 'longshore-secret-'))
    await writeFile(path.join(secret, 'key'), 'secret')
    const source = await mkdtemp(path.join(tmpdir(), 'longshore-links-'))
    await symlink(secret, path.join(source, 'dir'))
    await symlink(path.join(secret, 'key'), path.join(source, 'file'))
    for (const [index, from] of ['dir', 'dir/key', 'dir/*', 'file', '.', 'f*'].entries()) {
      await expect(
        engine.build(
          {
            appEnvId: 'env_1',
            contentId: `links_${index}`,
            sourceDir: source,
            contextDir: '.',
            dockerfilePath: 'Dockerfile',
            dockerfileContent: lines('FROM alpine', `COPY ${from} /x/`, 'CMD ["x"]'),
            buildArgs: {},
            secretBuildArgs: [],
          },
          () => {},
          new AbortController().signal,
        ),
        from,
      ).rejects.toThrow(/link/)
    }
    await rm(secret, { recursive: true })
    await rm(source, { recursive: true })
  })

  it('never writes through a link that leads out of the image', async () => {
    const outside = await mkdtemp(path.join(tmpdir(), 'longshore-outside-'))
    const link = `RUN ln -s "${outside}" out && ln -s "${outside}/new" file`
    await refused(lines('FROM alpine', link, 'COPY a.txt out/', 'CMD ["x"]'), files).toThrow(/leads out/)
    await refused(lines('FROM alpine', link, 'WORKDIR out', 'CMD ["x"]'), files).toThrow(/leads out/)
    await refused(lines('FROM alpine', link, 'COPY a.txt out/deep/x', 'CMD ["x"]'), files).toThrow(
      /leads out/,
    )
    const { root } = await build(lines('FROM alpine', link, 'COPY a.txt /file', 'CMD ["x"]'), files)
    expect(await readFile(path.join(root, 'file'), 'utf8')).toBe('A')
    expect(await readdir(outside)).toEqual([])
    await rm(outside, { recursive: true })
  })

  it('honors .dockerignore as Docker does: from the root, last pattern wins', async () => {
    const { root } = await build(lines('FROM alpine', 'COPY . /x', 'CMD ["y"]'), {
      ...files,
      'modules/a/index.js': '',
      '.dockerignore': lines(
        ...['# comment', '*.txt', 'sub', '!sub/deep/d.txt', 'modules', 'Dockerfile', '.dockerignore'],
      ),
    })
    const names = (await readdir(path.join(root, 'x'), { recursive: true })) as string[]
    expect(names.sort()).toEqual(['sub', 'sub/deep', 'sub/deep/d.txt'])
  })
})

describe('stages', () => {
  it('copies from an earlier one by name and number, links included, and drops its tree', async () => {
    const dockerfile = lines(
      'FROM node:20 AS Build',
      'WORKDIR /src',
      'RUN mkdir -p bin && echo built > bin/tool && ln -s tool bin/alias && ln -s "$PWD/bin/tool" absolute',
      'FROM build AS middle',
      'RUN echo more > more.txt',
      'FROM alpine',
      'COPY --from=build /src/bin /bin2/',
      'COPY --from=1 /src/more.txt /src/absolute /',
      'CMD ["cat", "/bin2/alias", "/more.txt"]',
    )
    const { image, root } = await build(dockerfile)
    expect(await run(image)).toEqual(['built', 'more'])
    expect(await readdir(path.dirname(root))).not.toContain('stages')
  })
})

describe('RUN', () => {
  it('runs in WORKDIR with ENV and ARG, and keeps what it wrote', async () => {
    const { image } = await build(
      lines(
        'FROM alpine',
        'ARG VERSION=1',
        'ENV COLOUR=teal NAME="two words"',
        'WORKDIR /app/deep',
        'RUN echo "$COLOUR $NAME $VERSION" > out.txt',
        'CMD cat out.txt',
      ),
      {},
      { buildArgs: { VERSION: '7', OTHER: 'never declared' } },
    )
    expect(await run(image)).toEqual(['teal two words 7'])
  })

  it('makes new folders of the image in the image, not on the host', async () => {
    const name = `/longshore-test-${process.pid}`
    const { root } = await build(lines('FROM alpine', `RUN mkdir ${name} && touch ${name}/x`, 'CMD ["y"]'))
    expect(existsSync(path.join(root, name, 'x'))).toBe(true)
    expect(existsSync(name)).toBe(false)
  })

  it('takes here-documents and the exec form', async () => {
    const { log } = await build(
      lines(
        'FROM alpine',
        'RUN <<EOF',
        'echo one',
        'echo two',
        'EOF',
        'RUN ["echo", "$HOME stays"]',
        'CMD ["x"]',
      ),
    )
    expect(log).toEqual(expect.arrayContaining(['one', 'two', '$HOME stays']))
  })

  it('keeps the platform’s variables out', async () => {
    process.env.LONGSHORE_CANARY = 'x'
    const { log } = await build(lines('FROM alpine', 'RUN env', 'CMD ["x"]')).finally(() => {
      delete process.env.LONGSHORE_CANARY
    })
    const names = log.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split('=')[0])
    expect(names.sort()).toEqual(['HOME', 'PATH', 'PWD'])
  })

  it('installs no packages into this machine, and skips users and owners', async () => {
    await refused(lines('FROM debian', 'RUN apt-get update', 'CMD ["x"]')).toThrow(/LONGSHORE_ENGINE=docker/)
    const { log } = await build(lines('FROM alpine', 'RUN adduser -S app && chown app /', 'CMD ["x"]'))
    expect(log.join('\n')).toMatch(/adduser: skipped[\s\S]*chown: skipped/)
  })

  it('ends what a step left in the background', async () => {
    const { image, root } = await build(lines('FROM alpine', 'RUN sleep 300 & echo $! > pid', 'CMD ["true"]'))
    const pid = Number(await readFile(path.join(root, 'pid'), 'utf8'))
    expect(pid).toBeGreaterThan(1)
    await until('it is gone', () => processIdentity(pid) === null || null)
    await engine.removeImage(image)
  })

  it('masks secrets in steps, output, failures and the instruction itself', async () => {
    const heard: string[] = []
    const failure = await installation
      .build(
        engine,
        {
          Dockerfile: lines(
            'FROM alpine',
            'ARG KEY',
            'RUN echo s3cr3t-1; echo $KEY >&2; exit 3',
            'CMD ["x"]',
          ),
        },
        { buildArgs: { KEY: 's3cr3t-1' }, secretBuildArgs: ['s3cr3t-1'] },
        (line) => heard.push(line.message),
      )
      .catch((error: Error) => error.message)
    expect(failure).toMatch(/exit code 3/)
    expect(`${failure}${heard.join('')}`).not.toContain('s3cr3t-1')
  })
})

describe('what starts', () => {
  const serverless: SourceFiles = {
    'main.js': 'console.log(process.argv.slice(2).join(" ") || "no arguments")',
  }
  it.each<[string, string[], string]>([
    ['an absolute path of the image', ['CMD ["node", "/app/main.js", "a b"]'], 'a b'],
    ['the same in shell form', ['CMD node /app/main.js $((1 + 1))'], '2'],
    ['ENTRYPOINT with CMD as arguments', ['ENTRYPOINT ["node", "main.js"]', 'CMD ["x", "y"]'], 'x y'],
    ['shell ENTRYPOINT without CMD', ['ENTRYPOINT node main.js', 'CMD ["x"]'], 'no arguments'],
    ['a script alone, as the node image does', ['CMD ["main.js", "z"]'], 'z'],
    ['ENTRYPOINT without the base’s CMD', ['ENTRYPOINT ["node", "main.js"]'], 'no arguments'],
    ['the last CMD', ['CMD ["false"]', 'CMD ["node", "main.js", "last"]'], 'last'],
    ['ENV PATH of the image', ['ENV PATH=/app/bin:$PATH', 'CMD ["tool"]'], 'tool ran'],
  ])('%s', async (_title, instructions, expected) => {
    const files = { ...serverless, 'bin/tool': '#!/bin/sh\necho tool ran\n' }
    const steps = ['WORKDIR /app', 'COPY . .', 'RUN chmod +x bin/tool', ...instructions]
    const { image } = await build(lines('FROM node:20', ...steps), files)
    expect(await run(image)).toEqual([expected])
  })

  it('sees PATH, a private HOME, ENV and its own variables, nothing else', async () => {
    const { image } = await build(
      lines('FROM node', 'ENV A=image B=image', 'CMD ["node", "-p", "JSON.stringify(process.env)"]'),
    )
    const env = JSON.parse((await run(image, { B: 'own' }))[0]!)
    expect(Object.keys(env).sort()).toEqual(['A', 'B', 'HOME', 'PATH'])
    expect(env).toMatchObject({ A: 'image', B: 'own', HOME: expect.stringContaining('/containers/one-') })
  })

  it('starts what was built before the engine was opened again', async () => {
    const { image } = await build(lines('FROM node', 'CMD ["node", "-p", "40+2"]'))
    engine = await installation.open()
    expect(await run(image)).toEqual(['42'])
    await engine.purge('env_1')
    await expect(engine.apply(installation.spec(image))).rejects.toMatchObject({ reason: 'interrupted' })
  })

  it('refuses an image reference and says which engine runs it', async () => {
    await expect(engine.apply(installation.spec('nginx:1'))).rejects.toThrow(/LONGSHORE_ENGINE=docker/)
  })
})
