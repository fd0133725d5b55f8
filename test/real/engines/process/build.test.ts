// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SourceFiles } from '../../../../testkit/builds/sample-sources.ts'
import { lines, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'
import { until } from '../../../../testkit/engines/suite.ts'

const fixture = new ProcessFixture('file')

describe('variables without end', () => {
  it.each(['ARG', 'ENV'])('of %s are refused before anything runs', async (keyword) => {
    const growing = [1, 2, 3].map((level) => `${keyword} W${level}=${`$W${level - 1}`.repeat(90)}`)
    const dockerfile = lines('FROM node', `${keyword} W0=${'x'.repeat(100)}`, ...growing, 'CMD ["x"]')
    await fixture.refused(dockerfile).toMatchObject({
      reason: 'build step',
      message: expect.stringMatching(/^Dockerfile line 4: .*64 KiB/),
    })
  })

  it.each([
    ['nested substitutions', lines('FROM node', `ENV A=${'${A:-'.repeat(10_000)}`, 'CMD ["x"]')],
    ['folders in PATH', lines('FROM node', `ENV PATH=${'/a:'.repeat(2_000)}`, 'CMD ["x"]')],
    ['wildcards', lines('FROM node', `COPY ${'*a'.repeat(3_000)} /x/`, 'CMD ["x"]')],
  ])('%s are refused', async (_what, dockerfile) => {
    await fixture.refused(dockerfile).toMatchObject({ reason: 'build step' })
  })
})

describe('FROM', () => {
  it('says which host runtime stands in for the image', async () => {
    const { log } = await fixture.build(lines('FROM node:99-alpine', 'CMD ["x"]'))
    expect(log).toContain(`node:99-alpine: this machine’s node ${process.version} stands in for it`)
  })

  it('refuses what is no runtime of this machine and names the engine that can', async () => {
    const error = fixture.refused(lines('FROM postgres:16'))
    await error.toMatchObject({
      reason: 'not supported',
      message: expect.stringMatching(/LONGSHORE_ENGINE=docker/),
    })
  })

  it('takes the image that presets start from for a Node, whatever its name', async () => {
    const nodeImage = 'registry.example/ours/js-base:22'
    const mirrored = await fixture.installation.open({ nodeImage })
    const files = { Dockerfile: lines(`FROM ${nodeImage}`, 'CMD ["x"]') }
    const { log } = await fixture.installation.build(mirrored, files)
    expect(log).toContain(`${nodeImage}: this machine’s node ${process.version} stands in for it`)
    await fixture.refused(files.Dockerfile).toMatchObject({ reason: 'not supported' })
  })

  it('takes ARG before FROM, build arguments first', async () => {
    const dockerfile = lines('ARG BASE=postgres', 'FROM ${BASE}:20', 'CMD ["x"]')
    await fixture.refused(dockerfile).toMatchObject({ message: expect.stringContaining('FROM postgres:20') })
    await fixture.build(dockerfile, {}, { buildArgs: { BASE: 'node' } })
  })

  it('leaves no folder behind when it fails', async () => {
    const images = path.join(fixture.installation.home, 'engine', 'images')
    const before = await readdir(images)
    await fixture.refused(lines('FROM postgres:16')).toThrow()
    await fixture.refused(lines('FROM alpine', 'RUN echo half > half.txt && false', 'CMD ["x"]')).toThrow()
    expect(await readdir(images)).toEqual(before)
  })

  it('refuses nothing to run, unless the base brings a command', async () => {
    await fixture.refused(lines('FROM alpine')).toMatchObject({ message: expect.stringContaining('CMD') })
    await fixture.build(lines('FROM node'))
  })
})

describe('RUN', () => {
  it('runs in WORKDIR with ENV and ARG, and keeps what it wrote', async () => {
    const { image } = await fixture.build(
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
    expect(await fixture.run(image)).toEqual(['teal two words 7'])
  })

  it('makes new folders of the image in the image, not on the host', async () => {
    const name = `/longshore-test-${process.pid}`
    const { root } = await fixture.build(
      lines('FROM alpine', `RUN mkdir ${name} && touch ${name}/x`, 'CMD ["y"]'),
    )
    expect(existsSync(path.join(root, name, 'x'))).toBe(true)
    expect(existsSync(name)).toBe(false)
  })

  it('takes here-documents and the exec form', async () => {
    const { log } = await fixture.build(
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
    const { log } = await fixture.build(lines('FROM alpine', 'RUN env', 'CMD ["x"]')).finally(() => {
      delete process.env.LONGSHORE_CANARY
    })
    const names = log.filter((line) => /^[A-Z_]+=/.test(line)).map((line) => line.split('=')[0])
    expect(names.sort()).toEqual(['HOME', 'PATH', 'PWD'])
  })

  it('ends what a step left in the background', async () => {
    await fixture.build(lines('FROM alpine', 'RUN sleep 300 &', 'CMD ["true"]'))
    await until('it is gone', () => fixture.stepPids().length === 0 || null)
  })

  it('masks secrets in steps, output, failures and the instruction itself', async () => {
    const heard: string[] = []
    const failure = await fixture.installation
      .build(
        fixture.engine,
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

describe('an unchanged build', () => {
  const files = { 'a.txt': 'A', 'sub/b.txt': 'B' }
  const dockerfile = (...more: string[]) =>
    lines(
      'FROM alpine',
      'ARG WHO=one',
      'COPY . /app',
      'RUN head -c 16 /dev/urandom | od -An -tx1 > /made && rm /usr/bin/perl',
      ...more,
      'CMD cat /made /app/a.txt; echo; test -e /usr/bin/perl || echo no perl; echo more >> /made',
    )
  const made = async (text: string, source: SourceFiles, options = {}) => {
    const { image, log } = await fixture.build(text, source, options)
    return {
      output: await fixture.run(image),
      isReused: log.some((line) => line.includes('used again')),
      image,
    }
  }

  it('uses the image of the one before, which its containers cannot change and whose removal it survives', async () => {
    const first = await made(dockerfile(), files)
    const second = await made(dockerfile(), files)
    expect(second).toMatchObject({ output: first.output, isReused: true })
    expect(first.output).toContain('no perl')
    await fixture.engine.removeImage(first.image)
    expect(await fixture.run(second.image)).toEqual(first.output)
  })

  it.each([
    ['a file', dockerfile(), { ...files, 'a.txt': 'C' }, {}],
    ['a name', dockerfile(), { 'a.txt': 'A', 'sub/c.txt': 'B' }, {}],
    ['an instruction', dockerfile('ENV X=1'), files, {}],
    ['a build argument', dockerfile(), files, { buildArgs: { WHO: 'two' } }],
  ])('runs its steps again when %s has changed', async (_what, text, source, options) => {
    expect(await made(text, source, options)).toMatchObject({ isReused: false })
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
    const { image } = await fixture.build(lines('FROM node:20', ...steps), files)
    expect(await fixture.run(image)).toEqual([expected])
  })

  it('sees PATH, a private HOME, ENV and its own variables, nothing else', async () => {
    const { image } = await fixture.build(
      lines('FROM node', 'ENV A=image B=image', 'CMD ["node", "-p", "JSON.stringify(process.env)"]'),
    )
    const env = JSON.parse((await fixture.run(image, { B: 'own' }))[0]!)
    expect(Object.keys(env).sort()).toEqual(['A', 'B', 'HOME', 'PATH'])
    expect(env).toMatchObject({ A: 'image', B: 'own', HOME: '/root' })
  })

  it('starts what was built before the engine was opened again', async () => {
    const { image } = await fixture.build(lines('FROM node', 'CMD ["node", "-p", "40+2"]'))
    fixture.engine = await fixture.installation.open()
    expect(await fixture.run(image)).toEqual(['42'])
    await fixture.engine.purge('env_1')
    await expect(fixture.engine.apply(fixture.installation.spec(image))).rejects.toMatchObject({
      reason: 'interrupted',
    })
  })

  it('refuses an image reference and says which engine runs it', async () => {
    await expect(fixture.engine.apply(fixture.installation.spec('nginx:1'))).rejects.toThrow(
      /LONGSHORE_ENGINE=docker/,
    )
  })
})
