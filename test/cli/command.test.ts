import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const entry = path.join(root, 'dist/longshore.js')

beforeAll(() => {
  // `npm test` builds first; this is for a single run of this file on a clean clone.
  if (!existsSync(entry)) execFileSync(process.execPath, ['build.mjs'], { cwd: root })
})

function run(...given: (string | NodeJS.ProcessEnv)[]) {
  const args = given.filter((one) => typeof one === 'string')
  const env = Object.assign({}, process.env, ...given.filter((one) => typeof one !== 'string'))
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, ...args], { encoding: 'utf8', env })
  return { status, stdout, stderr }
}

describe('the command', () => {
  it('every command has help: asked for, it goes to standard output with exit code 0', () => {
    const listed = [...run('--help').stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map((match) => match[1]!)
    expect(listed).toEqual(expect.arrayContaining(['serve', 'mcp', 'deploy', 'demo', 'jobs', 'stop']))
    for (const name of listed) {
      const { status, stdout, stderr } = run(name, '--help')
      expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' })
      expect(stdout.toLowerCase()).toContain(`longshore ${name === 'restore' ? 'backup' : name}`)
    }
  })

  it('is a program by itself after every build, as npx runs it', () => {
    expect(execFileSync(entry, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('prints its version', () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
    expect(run('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('names a command that is not there, and leaves standard output to answers', () => {
    const { status, stdout, stderr } = run('nope')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain('there is no command "nope"')
  })

  it('stop ends nothing where no installation is, and says so: the home may be mistyped', () => {
    const home = path.join(mkdtempSync(path.join(os.tmpdir(), 'longshore-typo-')), 'hoem')
    for (const args of [['stop'], ['secrets', 'rotate']]) {
      const { status, stderr } = run({ LONGSHORE_HOME: home }, ...args)
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining(`There is no installation at ${home}\n  Set LONGSHORE_HOME`),
      })
      expect(existsSync(home)).toBe(false)
    }
    rmSync(path.dirname(home), { recursive: true })
  })
})
