import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'

const run = promisify(execFile)
const entry = path.resolve('dist/longshore.js')

/** The commands of the three stages in docs/autonomy.md, block by block, as a reader would paste them. */
function blocksOfStages(): string[] {
  const text = readFileSync('docs/autonomy.md', 'utf8')
  const from = text.indexOf('\n## Three stages\n')
  const section = text.slice(from, text.indexOf('\n## ', from + 1))
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
}

describe('the three stages of docs/autonomy.md', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  const answers: string[] = []

  beforeAll(async () => {
    if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'])
    await installation.start()
    const bin = path.join(installation.home, 'bin')
    mkdirSync(bin)
    const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${entry}" "$@"\n`
    writeFileSync(path.join(bin, 'npx'), npx, { mode: 0o755 })
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, LONGSHORE_HOME: installation.home }
    for (const block of blocksOfStages()) {
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', block], { env, cwd: bin })
      answers.push(stdout)
    }
  }, 180_000)
  afterAll(() => installation.dispose())

  it('each command works as it is pasted, in order', () => {
    const [proposed, approved, held, alone, stopped] = answers
    expect(proposed).toContain('shop-prod is STOPPED')
    expect(approved).toContain('1 of 1: envs variables')
    expect(approved).toContain('Approved and done: 1 step.')
    expect(held).toContain('It waits for a person.')
    expect(held).toContain('Denied; nothing was changed.')
    expect(alone).toContain('✓ an agent loses data: ask by data-loss')
    expect(alone).toContain('Deploy bot')
    expect(stopped).toContain('Agents are paused.')
    expect(stopped).toContain('Agents may write again.')
  })
})
