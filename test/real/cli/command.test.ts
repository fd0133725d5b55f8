import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { beforeAll, describe, expect, it } from 'vitest'

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
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
  it('--help prints to standard output with exit code 0', () => {
    const listed = [...run('--help').stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map((match) => match[1]!)
    expect(listed).toEqual(expect.arrayContaining(['serve', 'mcp', 'deploy', 'demo', 'jobs', 'stop']))
    // The help of every command is in test/platform/cli/rows.test.ts; these two differ in where they are parsed.
    for (const name of ['serve', 'jobs']) {
      const { status, stdout, stderr } = run(name, '--help')
      expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' })
      expect(stdout.toLowerCase()).toContain(`usage: longshore ${name}`)
    }
  })

  it('is a program by itself after every build, as npx runs it', () => {
    expect(execFileSync(entry, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('names itself what an old Node lacks, in one sentence: the entry must be readable for it', () => {
    const text = readFileSync(entry, 'utf8').replace(/^#!.*/, '')
    // Syntax of Node 10: no import statement, no `?.`, no `??`.
    expect(text).not.toMatch(/^\s*(?:import|export)\s|\?\.|\?\?/m)
    expect(() => new Script(text)).not.toThrow()
    for (const old of ['10.24.1', '18.20.4', '20.17.0']) {
      const pretend = `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'${old}'}})`
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', pretend, entry, 'serve'], {
        encoding: 'utf8',
      })
      expect({ status, stdout, stderr }).toEqual({
        status: 1,
        stdout: '',
        stderr: `Longshore needs Node 20.18 or newer; this is Node ${old}.\n`,
      })
    }
  })

  it('brings the licenses of what it bundles, and needs few packages beside it', () => {
    const licenses = readFileSync(path.join(root, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8')
    for (const name of ['fastify', 'pino', 'kysely', 'dockerode', 'zod', 'commander']) {
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'))
    }
    const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
    const inProduction = Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages).filter(
      ([name, { dev, devOptional }]) => name !== '' && !dev && !devOptional,
    )
    expect(inProduction.length).toBeLessThan(30)
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

  it('stop reports a data directory without an installation: the path may be mistyped', () => {
    const home = path.join(mkdtempSync(path.join(os.tmpdir(), 'longshore-typo-')), 'hoem')
    for (const args of [['stop'], ['secrets', 'rotate']]) {
      const { status, stderr } = run({ LONGSHORE_HOME: home }, ...args)
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining(`There is no installation at ${home}.\nSet LONGSHORE_HOME`),
      })
      expect(existsSync(home)).toBe(false)
    }
    rmSync(path.dirname(home), { recursive: true })
  })
})
