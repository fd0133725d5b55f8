import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type BuildContentOptions, buildContent } from '../../../src/builds/build-content.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import {
  type BuildSpec,
  type Engine,
  EngineFailure,
  type EngineLogLine,
} from '../../../src/engines/engine.ts'
import { tgz } from '../../../testkit/builds/archives.ts'

let dir: string
let logged: EngineLogLine[]

beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-build-'))
  logged = []
})
afterEach(async () => {
  await rm(dir, { recursive: true, force: true })
})

/** Only `build` and `capabilities` of the engine are used here; a call of anything else would throw. */
function engineThatBuilds(build: Engine['build'], builds = true): Engine {
  return { kind: 'fake', capabilities: { builds }, build } as unknown as Engine
}

async function run(engine: Engine, options: Partial<BuildContentOptions> = {}, archive?: Buffer) {
  const file = path.join(dir, 'upl_1.tgz')
  const source = [
    { name: 'Dockerfile', content: 'FROM node\n' },
    { name: 'a/b.js', content: '12345' },
  ]
  await writeFile(file, archive ?? tgz(source))
  return buildContent({
    engine,
    source: { kind: 'upload', fetch: async () => file, extension: '.tgz' },
    gitBaseUrl: 'https://git.invalid',
    nodeImage: 'node:20-alpine',
    content: {
      appEnvId: 'env_1',
      contentId: 'dep_1',
      contextDir: null,
      dockerfilePath: null,
      dockerfileContent: null,
      preset: 'CUSTOM',
      buildArgs: { A: '1' },
      secretBuildArgs: [],
    },
    buildsDir: dir,
    onLog: (line) => logged.push(line),
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    clock: systemClock,
    ...options,
  })
}

const lines = () => logged.map((line) => line.message)
const left = async () => (await readdir(dir)).sort()

it('unpacks, builds, says each stage and leaves only the upload', async () => {
  let seen: (BuildSpec & { text: string }) | undefined
  const engine = engineThatBuilds(async (spec, onLog) => {
    seen = { ...spec, text: await readFile(path.join(spec.sourceDir, 'a/b.js'), 'utf8') }
    onLog({ timestamp: '2026-01-01T00:00:00.000Z', stream: 'stdout', message: 'Step 1/1' })
    return { image: 'built:1' }
  })
  expect(await run(engine)).toEqual({ image: 'built:1', gitCommitId: null })
  expect(seen).toMatchObject({ text: '12345', contentId: 'dep_1', contextDir: '.', buildArgs: { A: '1' } })
  expect(lines()).toEqual([
    'Unpacking the upload',
    'Unpacked 2 files, 15 B',
    'Building with Dockerfile',
    'Step 1/1',
    expect.stringMatching(/^Built in \d+\.\d s$/),
  ])
  expect(logged[0]!.timestamp).toMatch(/^\d{4}-.*Z$/)
  expect(await left()).toEqual(['upl_1.tgz'])
})

it('hands over the folder of a Git host archive', async () => {
  let sourceDir = ''
  const engine = engineThatBuilds(async (spec) => {
    sourceDir = spec.sourceDir
    return { image: 'x' }
  })
  await run(engine, {}, tgz([{ name: 'repo-main/Dockerfile', content: 'FROM x' }]))
  expect(path.basename(sourceDir)).toBe('repo-main')
  expect(lines()).toContain('The source is in the folder repo-main')
})

it('passes a bad archive and a failed step on', async () => {
  const never = engineThatBuilds(() => Promise.reject(new Error('not reached')))
  const bad = await run(never, {}, tgz([{ name: 'l', type: '2', link: '/x' }])).catch((error) => error)
  expect(bad).toMatchObject({ reason: 'bad archive' })
  const step = new EngineFailure('build step', 'RUN exit 3 ended with code 3.')
  expect(await run(engineThatBuilds(() => Promise.reject(step))).catch((error) => error)).toBe(step)
  expect(await left()).toEqual(['upl_1.tgz'])
})

it('refuses where the engine cannot build', async () => {
  const engine = engineThatBuilds(() => Promise.reject(new Error('not reached')), false)
  await expect(run(engine)).rejects.toMatchObject({ reason: 'not supported' })
})

it('ends a build that takes too long, by the clock it was given', async () => {
  let fire = () => {}
  const clock: Clock = {
    ...systemClock,
    after(delayMs, task) {
      expect(delayMs).toBe(90_000)
      fire = task
      return () => {}
    },
  }
  const engine = engineThatBuilds((_spec, _onLog, signal) => {
    queueMicrotask(() => fire())
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('killed'))),
    )
  })
  await expect(run(engine, { clock, timeoutMs: 90_000 })).rejects.toMatchObject({
    reason: 'build timeout',
    message: expect.stringContaining('90 seconds'),
  })
  expect(await left()).toEqual(['upl_1.tgz'])
})

it('throws the reason of an abort and cleans up', async () => {
  const stop = new AbortController()
  const reason = new EngineFailure('interrupted', 'A newer deployment took over.')
  const engine = engineThatBuilds((_spec, _onLog, signal) => {
    queueMicrotask(() => stop.abort(reason))
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('killed'))),
    )
  })
  await expect(run(engine, { signal: stop.signal })).rejects.toBe(reason)
  expect(await left()).toEqual(['upl_1.tgz'])
})

it('reads a package.json whose versions are objects', async () => {
  const manifest = { scripts: { start: 'node .' }, dependencies: { one: { toString: 1 } } }
  const content = {
    appEnvId: 'env_1',
    contentId: 'dep_1',
    contextDir: null,
    dockerfilePath: null,
    dockerfileContent: null,
    preset: 'NODE_JS' as const,
    buildArgs: {},
    secretBuildArgs: [],
  }
  const archive = tgz([{ name: 'package.json', content: JSON.stringify(manifest) }])
  const engine = engineThatBuilds(async () => ({ image: 'built:1' }))
  expect(await run(engine, { content }, archive)).toMatchObject({ image: 'built:1' })
})

it('names files of LFS, empty submodules and where the Dockerfile is, and gives the commit to the build', async () => {
  let args: BuildSpec['buildArgs'] = {}
  const engine = engineThatBuilds(async (spec) => {
    args = spec.buildArgs
    return { image: 'built:1' }
  })
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n'
  const source = tgz([
    { name: 'Dockerfile', content: 'FROM node\n' },
    { name: '.gitmodules', content: '[submodule "x"]\n\tpath = libs/x\n[submodule "y"]\n\tpath = y\n' },
    { name: 'libs/x/', type: '5' },
    { name: 'y/file', content: 'x' },
    { name: 'model.bin', content: pointer },
  ])
  const content = {
    ...{ appEnvId: 'env_1', contentId: 'dep_1', contextDir: null, dockerfilePath: null },
    ...{ preset: 'CUSTOM' as const, buildArgs: { SOURCE_COMMIT: 'own' }, secretBuildArgs: [] },
    ...{ dockerfileContent: null, gitCommitId: 'abc123' },
  }
  await run(engine, { content }, source)
  expect(args).toEqual({ LONGSHORE_COMMIT: 'abc123', SOURCE_COMMIT: 'own' })
  const warnings = lines().filter((line) => line.startsWith('Warning'))
  expect(warnings).toEqual([
    expect.stringMatching(/^Warning: model.bin: .*Git LFS/),
    expect.stringMatching(/^Warning: libs\/x: .*submodules/),
  ])
  const elsewhere = tgz([
    { name: 'app/Dockerfile', content: 'FROM node\n' },
    { name: 'readme', content: 'x' },
  ])
  const failure = await run(engine, {}, elsewhere).catch((error) => error)
  expect(failure.message).toContain('contextDir "app" (there is "app/Dockerfile") with update-app')
  const express = tgz([{ name: 'package.json', content: '{"dependencies":{"express":"5"}}' }])
  const unset = await run(engine, {}, express).catch((error) => error)
  expect(unset.message).toContain('dockerPreset EXPRESS (package.json depends on express) with update-app')
})
