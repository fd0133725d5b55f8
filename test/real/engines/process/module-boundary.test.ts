import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Engine } from '../../../../src/engines/engine.ts'
import { messagesOf, ProcessInstallation } from '../../../../testkit/engines/process-installation.ts'
import { until } from '../../../../testkit/engines/suite.ts'

let installation: ProcessInstallation
let engine: Engine
beforeAll(async () => {
  installation = await ProcessInstallation.create()
  engine = await installation.open()
  // A project around the engine's files, as a checkout is around its data directory.
  await addModule(path.join(installation.home, 'node_modules/around'))
})
afterAll(() => installation.destroy())

async function addModule(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'package.json'), '{ "main": "index.js" }')
  await writeFile(path.join(folder, 'index.js'), 'module.exports = "found"')
}

async function run(
  files: Record<string, string>,
  command: string,
): Promise<{ out: string; code: number | null }> {
  const Dockerfile = `FROM node\nWORKDIR /app\nCOPY . .\nENV NODE_OPTIONS=--no-deprecation\nCMD ${command}\n`
  const { image } = await installation.build(engine, { Dockerfile, ...files })
  const spec = installation.spec(image, { env: {}, port: null })
  await engine.apply(spec)
  const ended = await until(
    'it ended',
    async () =>
      (await engine.list()).find(({ name, state }) => name === spec.name && state === 'exited') ?? null,
  )
  return { out: (await messagesOf(engine, spec.name)).join('\n'), code: ended.exitCode }
}

it.each([
  ['require', { 'a.cjs': 'require("around")' }, '["node", "a.cjs"]', "Cannot find module 'around'"],
  ['import', { 'a.mjs': 'import "around"' }, '["node", "a.mjs"]', "Cannot find package 'around'"],
  ['import()', { 'a.cjs': 'import("around")' }, '["node", "a.cjs"]', "Cannot find package 'around'"],
])(
  '%s does not find modules of the folders around the data directory',
  async (_how, files, command, text) => {
    const { out, code } = await run(files, command)
    expect(out).toContain(text)
    expect(code).toBe(1)
  },
)

it('finds what the image has, keeps NODE_OPTIONS of the image, and ends a build that lacks a module', async () => {
  const own = {
    'node_modules/own/package.json': '{ "main": "index.js" }',
    'node_modules/own/index.js': 'module.exports = "own"',
    'a.mjs': 'import own from "own"; console.log(own, process.env.NODE_OPTIONS.endsWith("--no-deprecation"))',
  }
  expect(await run(own, '["node", "a.mjs"]')).toEqual({ out: 'own true', code: 0 })
  const Dockerfile = 'FROM node\nWORKDIR /app\nCOPY . .\nRUN node a.cjs\nCMD ["node", "a.cjs"]\n'
  await expect(
    installation.build(engine, { Dockerfile, 'a.cjs': 'require("around")' }),
  ).rejects.toMatchObject({
    reason: 'build step',
    message: expect.stringContaining("Cannot find module 'around'"),
  })
})
