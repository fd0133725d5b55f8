import { symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { extract } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { BuildOutput, buildFailure } from '../../../../src/engines/docker/build-output.ts'
import { cleanConfig, secretsTaken } from '../../../../src/engines/docker/secrets.ts'
import { openContext } from '../../../../src/engines/dockerfile/build-context.ts'
import { type BuildSpec, EngineFailure } from '../../../../src/engines/engine.ts'
import { type SourceFiles, writeSource } from '../../../../testkit/builds/sample-sources.ts'

describe('openContext', () => {
  const spec: BuildSpec = {
    appEnvId: 'env',
    contentId: 'dep',
    sourceDir: '',
    contextDir: '.',
    dockerfilePath: 'Dockerfile',
    dockerfileContent: null,
    buildArgs: {},
    secretBuildArgs: [],
  }

  async function packed(
    files: SourceFiles,
    change: Partial<BuildSpec> = {},
    prepare: (dir: string) => Promise<void> = async () => {},
  ): Promise<{ dockerfile: string; entries: Map<string, string> }> {
    const source = await writeSource(files)
    try {
      await prepare(source.dir)
      const { tar, dockerfile } = await openContext({ ...spec, sourceDir: source.dir, ...change })
      const entries = new Map<string, string>()
      const reader = extract()
      tar.pipe(reader as never)
      for await (const entry of reader) {
        const chunks: Buffer[] = []
        for await (const chunk of entry) chunks.push(chunk as Buffer)
        entries.set(entry.header.name, entry.header.linkname ?? Buffer.concat(chunks).toString())
      }
      return { dockerfile, entries }
    } finally {
      await source.remove()
    }
  }

  it('always sends the Dockerfile, and nothing else that is left out', async () => {
    const { dockerfile, entries } = await packed({
      Dockerfile: 'FROM scratch',
      '.dockerignore': '*\n!app\napp/tmp',
      'app/a.js': 'a',
      'app/tmp/b': 'b',
      'other/c': 'c',
    })
    expect(dockerfile).toBe('Dockerfile')
    expect([...entries.keys()].sort()).toEqual(['.dockerignore', 'Dockerfile', 'app', 'app/a.js'])
  })

  it('leaves out what the list of the Dockerfile itself names, instead of the general one', async () => {
    const { entries } = await packed(
      {
        'docker/web.Dockerfile': 'FROM scratch',
        'docker/web.Dockerfile.dockerignore': 'secret.txt',
        '.dockerignore': 'a.js',
        'a.js': 'a',
        'secret.txt': 's',
      },
      { dockerfilePath: 'docker/web.Dockerfile' },
    )
    expect(entries.has('secret.txt')).toBe(false)
    expect(entries.get('a.js')).toBe('a')
    // The classic builder leaves out what this one names.
    expect(entries.get('.dockerignore')).toBe('secret.txt')
  })

  it('sends links as links, so that nothing outside the context gets in', async () => {
    const { entries } = await packed(
      { Dockerfile: 'FROM scratch', 'outside.txt': 'x', 'in/Dockerfile': 'FROM scratch' },
      { contextDir: 'in' },
      (dir) => symlink('../outside.txt', path.join(dir, 'in/link')),
    )
    expect([...entries.entries()].sort()).toEqual([
      ['Dockerfile', 'FROM scratch'],
      ['link', '../outside.txt'],
    ])
  })

  it('refuses a Dockerfile or a context that a link leads out of the source', async () => {
    const outside = await writeSource({ Dockerfile: 'FROM scratch' })
    try {
      const attempts: [Partial<BuildSpec>, (dir: string) => Promise<void>][] = [
        [{}, (dir) => symlink(path.join(outside.dir, 'Dockerfile'), path.join(dir, 'Dockerfile'))],
        [{ contextDir: 'out' }, (dir) => symlink(outside.dir, path.join(dir, 'out'))],
        [{ dockerfilePath: `../${path.basename(outside.dir)}/Dockerfile` }, async () => {}],
        [{ contextDir: '..' }, (dir) => writeFile(path.join(dir, 'x'), '')],
        [{ contextDir: 'nowhere' }, async () => {}],
      ]
      for (const [change, prepare] of attempts) {
        await expect(packed({ a: 'a' }, change, prepare)).rejects.toMatchObject({ reason: 'no Dockerfile' })
      }
    } finally {
      await outside.remove()
    }
  })

  it('adds a given Dockerfile under a name the engine drops again', async () => {
    const { dockerfile, entries } = await packed(
      { Dockerfile: 'BROKEN', '.dockerignore': 'Dockerfile' },
      { dockerfileContent: 'FROM scratch' },
    )
    expect(dockerfile).toMatch(/^\.longshore-[0-9a-f]{16}\.Dockerfile$/)
    expect(entries.get(dockerfile)).toBe('FROM scratch')
    expect(entries.get('.dockerignore')).toBe(`Dockerfile\n${dockerfile}\n`)
    expect(entries.has('Dockerfile')).toBe(false)
    const linked = await packed({ a: 'a' }, { dockerfileContent: 'FROM scratch' }, (dir) =>
      symlink('/etc/hostname', path.join(dir, '.dockerignore')),
    )
    expect(linked.entries.get('.dockerignore')).toBe(`${dockerfile}\n.dockerignore\n`)
    const without = await packed({ a: 'a' }, { dockerfileContent: 'FROM scratch' })
    expect(without.entries.get('.dockerignore')).toContain('.dockerignore')
  })
})

describe('BuildOutput', () => {
  function run(messages: Record<string, unknown>[]) {
    const lines: string[] = []
    const output = new BuildOutput((line) => lines.push(`${line.stream}: ${line.message}`))
    for (const message of messages) output.feed(message)
    return { lines, output }
  }

  it('gives whole lines, their stream, no housekeeping, and the image', () => {
    const { lines, output } = run([
      { stream: 'Step 1/3 : FROM base' },
      { stream: '\n' },
      { stream: ' ---> 111111111111\n' },
      { stream: 'Step 2/3 : RUN make\n' },
      { stream: ' ---> Running in 0123456789ab\n' },
      { stream: 'part' },
      { stream: ' two\nnext\r\n' },
      { stream: '\u001b[91mwarning\n\u001b[0m' },
      { stream: 'Removing intermediate container 0123456789ab\n' },
      { stream: ' ---> 222222222222\n' },
      { stream: 'Step 3/3 : LABEL longshore.env=x\n' },
      { aux: { ID: 'sha256:333' } },
      { stream: 'Successfully built 333333333333\n' },
    ])
    expect(output.finish()).toBe('sha256:333')
    expect(output.stages).toEqual([])
    expect(lines).toEqual([
      'stdout: Step 1/3 : FROM base',
      'stdout: Step 2/3 : RUN make',
      'stdout: part two',
      'stdout: next',
      'stderr: warning',
    ])
  })

  it('knows the last image of each stage that is not the result, but not their bases', () => {
    const { output } = run([
      { stream: 'Step 1/5 : FROM base AS one\n ---> 111111111111\n' },
      { stream: 'Step 2/5 : RUN a\n ---> 222222222222\n' },
      { stream: 'Step 3/5 : FROM base AS two\n ---> 111111111111\n' },
      { stream: 'Step 4/5 : FROM base\n ---> 111111111111\n' },
      { stream: 'Step 5/5 : RUN b\n ---> 333333333333\n' },
      { aux: { ID: 'sha256:333' } },
    ])
    expect(output.finish()).toBe('sha256:333')
    expect(output.stages).toEqual(['222222222222'])
  })

  it('answers null when the engine stopped talking', () => {
    expect(run([{ stream: 'Step 1/1 : FROM base\n' }]).output.finish()).toBeNull()
  })
})

describe('buildFailure', () => {
  const run = { title: 'Step 2/3 "RUN make"', instruction: 'RUN' }
  const from = { title: 'Step 1/3 "FROM nope"', instruction: 'FROM' }
  it.each([
    ["The command '/bin/sh -c make' returned a non-zero code: 2", run, 'build step', 'exit code: 2'],
    ["The command '/bin/sh -c make' returned a non-zero code: 137", run, 'build step', 'memory'],
    [
      'pull access denied for nope, repository does not exist',
      from,
      'image pull',
      'does not exist. Check the name',
    ],
    [
      'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io: no such host',
      from,
      'image pull',
      'no such host',
    ],
    ['manifest for x:1 not found: manifest unknown: manifest unknown', run, 'image pull', 'x:1'],
    ['invalid reference format', from, 'build step', 'invalid reference'],
    ['dockerfile parse error line 2: unknown instruction: FETCH', null, 'build step', 'FETCH'],
    [
      'COPY failed: stat /var/lib/docker/tmp/docker-builder123/nope: no such file or directory',
      run,
      'build step',
      'no such file',
    ],
  ] as const)('%s', (said, step, reason, text) => {
    const failure = buildFailure(said, step)
    expect(failure.reason).toBe(reason)
    expect(failure.message).toContain(text)
    expect(failure.message).not.toContain('/var/lib')
  })
})

describe('secrets', () => {
  it('are those that the Dockerfile takes with ARG', () => {
    const spec = {
      buildArgs: { TOKEN: 'hunter22', MODE: 'production', LEVEL: '1', OPEN: 'shown' },
      secretBuildArgs: ['hunter22', 'production', '1'],
    }
    const taken = (dockerfile: string) => secretsTaken(spec, dockerfile).map(({ name }) => name)
    expect(taken('FROM scratch\nRUN echo ARG LEVEL')).toEqual([])
    expect(taken('FROM scratch\nARG TOKEN\nARG OPEN')).toEqual(['TOKEN'])
    expect(taken('arg LEVEL=2 \\\n  MODE\nFROM scratch')).toEqual(['MODE', 'LEVEL'])
    expect(taken('FROM scratch\nARG \\\n# a comment\n  TOKEN\nRUN echo')).toEqual(['TOKEN'])
    expect(taken('FROM scratch\n\u0085ARG TOKEN')).toEqual(['TOKEN'])
    expect(secretsTaken(spec, 'ARG MODE\nCMD ["production"]')).toMatchObject([{ isWritten: true }])
  })

  it('are 64 KiB in all: the search for more in an image would take the platform’s time', () => {
    const lines = Array.from({ length: 6_000 }, (_, nth) => `line-${nth}`).join('\n')
    const spec = { buildArgs: { ONE: lines, TWO: `${lines}!` }, secretBuildArgs: [lines, `${lines}!`] }
    expect(secretsTaken(spec, 'FROM scratch\nARG ONE')).toHaveLength(1)
    expect(() => secretsTaken(spec, 'FROM scratch\nARG ONE TWO')).toThrow('more than 64 KiB in all')
  })

  it('are found in the settings of an image in a time that their lines do not multiply', () => {
    const value = Array.from({ length: 6_000 }, (_, nth) => `line-${nth}`).join('\n')
    const Env = Array.from({ length: 2_000 }, (_, nth) => `NAME${nth}=${'word-x'.repeat(200)}`)
    const startedMs = performance.now()
    const kept = cleanConfig(
      { Env: [...Env, 'KEY=line-17'] } as never,
      [{ name: 'KEYS', value, isWritten: false }],
      () => {},
    )
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    expect(kept.Env).toEqual(Env)
  })

  const hunter = { name: 'KEY', value: 'hunter22', isWritten: false }

  it('drops ENV lines that copied one, saying so, and refuses it elsewhere', () => {
    const said: string[] = []
    const config = { Env: ['A=1', 'TOKEN=hunter22'], Cmd: ['run'], Labels: {} } as never
    expect(cleanConfig(config, [hunter], (line) => said.push(line)).Env).toEqual(['A=1'])
    expect(said.join()).toContain('ENV TOKEN')
    expect(said.join()).not.toContain('hunter22')
    const leaky = { Env: [], Cmd: ['run', '--token=hunter22'] } as never
    expect(() => cleanConfig(leaky, [hunter], () => {})).toThrow(EngineFailure)
  })

  it('leaves short and written values alone where they are only words', () => {
    const config = {
      Env: ['LEVEL=1', 'WORKERS=1'],
      Cmd: ['npm', 'run', 'production'],
      Image: 'sha256:1',
    } as never
    const secrets = [
      { name: 'LEVEL', value: '1', isWritten: true },
      { name: 'MODE', value: 'production', isWritten: true },
    ]
    expect(cleanConfig(config, secrets, () => {})).toMatchObject({
      Env: ['WORKERS=1'],
      Cmd: ['npm', 'run', 'production'],
    })
  })
})
