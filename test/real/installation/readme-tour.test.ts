import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)
const entry = path.resolve('dist/longshore.js')

/** The commands of a section of README, in order, as a reader would paste them. */
function commandsOf(section: string): string[] {
  const readme = readFileSync('README.md', 'utf8')
  const from = readme.indexOf(`\n## ${section}\n`)
  const text = readme.slice(from, readme.indexOf('\n## ', from + 1))
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

describe("README's tour", () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '20' })
  const answers: string[] = []

  beforeAll(async () => {
    if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'])
    await installation.start()
    const { api, gateway } = installation.ready
    // `npx longshore` is the command of this build.
    const bin = path.join(installation.home, 'bin')
    mkdirSync(bin)
    const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${entry}" "$@"\n`
    writeFileSync(path.join(bin, 'npx'), npx, { mode: 0o755 })
    const env = {
      ...process.env,
      PATH: `${bin}:${process.env.PATH}`,
      LONGSHORE_HOME: installation.home,
    }
    const blocks = commandsOf('Five minutes')
    expect(blocks.length).toBeGreaterThan(4)
    for (const block of blocks) {
      const here = block
        .replaceAll('127.0.0.1:4400', new URL(api).host)
        .replaceAll(':4480', `:${new URL(gateway).port}`)
        .replaceAll('.longshore/', `${installation.home}/`)
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', here], { env })
      answers.push(stdout)
    }
  })
  afterAll(() => installation.dispose())

  it('does by shell what it says: creates, deploys, calls, changes', () => {
    const [created, deployed, called, calledByHost, burst, changed] = answers
    expect(created).toContain('Created hello-prod')
    expect(deployed).toMatch(/^Deployed hello-prod version 1 /)
    for (const answer of [called, calledByHost])
      expect(JSON.parse(answer!).message).toBe('Hello from Longshore')
    expect(burst).toMatch(/^ *50 200$/m)
    expect(changed).toContain('longshore envs apply')
  })

  it('does by REST what it says: each body works as it is pasted, in order', () => {
    const said = answers.at(-1)!
    expect(said).not.toContain('"error"')
    expect(said).toMatch(/^\{"appEnvId":"env_/)
    expect(said).toContain('Saved 1 and removed 0 variables')
    expect(said.trimEnd()).toMatch(/"hosts":\[.*\]\}$/)
  })
})
