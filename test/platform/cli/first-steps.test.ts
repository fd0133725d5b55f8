import { mkdtemp, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { shellFixture } from '../../../testkit/cli/shell-fixture.ts'
import { removeFolder } from '../../../testkit/remove-folder.ts'

const fixture = shellFixture()
const { run, json, created } = fixture
let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-first-'))
})
afterEach(() => removeFolder(dir))

const write = (name: string, text: string) => writeFile(path.join(dir, name), text)
async function writeExpress(): Promise<void> {
  await write('package.json', JSON.stringify({ main: 'start.js', dependencies: { express: '5' } }))
  await write('start.js', '')
}

describe('deploying a folder without a Dockerfile', () => {
  it('gives an app of preset CUSTOM the preset of its source, says so and deploys', async () => {
    await writeExpress()
    const env = await created()
    const rehearsed = await run('deploy', env, '--dir', dir, '--dry-run')
    expect(rehearsed.out).toContain('the preset EXPRESS, because package.json depends on express')
    expect((await json('envs', 'get', env)).dockerPreset).toBe('CUSTOM')
    const { code, err } = await run('deploy', env, '--dir', dir)
    expect(code, err).toBe(0)
    expect(err).toContain('package.json depends on express: the app now has the preset EXPRESS')
    expect((await json('envs', 'get', env)).dockerPreset).toBe('EXPRESS')
  })

  it('suggests a Dockerfile in the language of the source where no preset fits', async () => {
    await write('app.py', '')
    await write('requirements.txt', 'flask\n')
    const { code, err } = await run('deploy', await created(), '--dir', dir)
    expect(code).toBe(1)
    expect(err).toContain('FROM python:3.13-slim')
    expect(err).toContain('CMD ["python", "app.py"]')
  })
})

describe('deploying to an environment that does not exist', () => {
  it('creates app and environment after a yes, and deploys', async () => {
    await writeExpress()
    fixture.answers = ['y']
    const { code, out, err } = await run('deploy', 'corner-shop-prod', '--dir', dir)
    expect(code, err).toBe(0)
    expect(out).toMatch(/^Deployed corner-shop-prod version 1/)
    const { appId, name } = await json('envs', 'get', 'corner-shop-prod')
    expect(name).toBe('prod')
    expect(await json('apps', 'get', appId)).toMatchObject({
      name: 'corner-shop',
      dockerPreset: 'EXPRESS',
      port: 3000,
    })
    expect((await run('deploy', 'corner-shop-staging', '--dir', dir, '--yes')).code).toBe(0)
    expect(await json('envs', 'get', 'corner-shop-staging')).toMatchObject({ appId, name: 'staging' })
  })

  it('creates nothing after a no, without a person, and in a dry run', async () => {
    await writeExpress()
    const before = (await json('apps', 'list')).apps.length
    fixture.answers = ['n']
    const refused = await run('deploy', 'nowhere-prod', '--dir', dir)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain('With --yes it is created')
    expect((await run('deploy', 'nowhere-prod', '--dir', dir)).code).toBe(1)
    const rehearsed = await run('deploy', 'nowhere-prod', '--dir', dir, '--dry-run')
    expect(rehearsed.out).toContain('Creates the app nowhere (preset EXPRESS')
    expect((await json('apps', 'list')).apps).toHaveLength(before)
  })

  it('takes the port that the Dockerfile exposes, makes a function for function settings, and deploys images', async () => {
    await write('Dockerfile', 'FROM node\nEXPOSE 7070\nCMD ["node", "s.js"]\n')
    expect((await run('deploy', 'quick', '--dir', dir, '--yes', '--fn-max-scale', '2')).code).toBe(0)
    const fn = await json('envs', 'get', 'quick')
    expect(fn).toMatchObject({ isFunction: true, cliEnvName: 'quick', functionConfig: { maxScale: 2 } })
    expect(await json('apps', 'get', fn.appId)).toMatchObject({ name: 'quick', port: 7070 })
    const image = 'registry.example.com/web:1'
    expect((await run('deploy', 'web-prod', '--image', image, '--port', '81', '--yes')).code).toBe(0)
    const { appId } = await json('envs', 'get', 'web-prod')
    expect(await json('apps', 'get', appId)).toMatchObject({ useImage: true, image, port: 81 })
  })
})

it('--git is for apps that use a Git host', async () => {
  const { code, err } = await run('deploy', await created(), '--git')
  expect([code, err]).toEqual([1, expect.stringContaining('The app does not use a Git host')])
  const repo = ['--git-namespace', 'team', '--git-repo', 'shop', '--branch', 'main']
  const { out } = await run('create', 'Hosted', '--port', '80', ...repo)
  expect(out).toContain('longshore deploy --env hosted-prod --git')
  const why = await run('why', 'hosted-prod')
  expect(why.out).toContain('Deploy the head of its branch')
})

describe('first steps', () => {
  it('create --image implies --use-image', async () => {
    const { out } = await run('create', 'Pictured', '--port', '80', '--image', 'team/app:1')
    expect(out).toContain('--image <reference>')
    const { apps } = await json('apps', 'list')
    expect(apps.find(({ name }: { name: string }) => name === 'Pictured')).toMatchObject({ useImage: true })
  })

  it.each([
    [['deplyo', '--help'], 'there is no command "deplyo"; did you mean deploy?'],
    [['envs', 'stauts', '--help'], 'there is no envs command "stauts"; did you mean status?'],
    [['help', 'frobnicate'], 'there is no command "frobnicate"'],
  ])('the help of an unknown command is an error: %j', async (words, text) => {
    const { code, out, err } = await run(...words)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(text)
  })

  it('the help of known commands is none', async () => {
    for (const words of [['--help'], ['envs', '--help'], ['deploy', '--help'], ['help', 'envs', 'get']])
      expect((await run(...words)).code).toBe(0)
  })

  it('imports a .env file, as secrets unless they may be read', async () => {
    const env = await created()
    const file = path.join(dir, '.env')
    await writeFile(file, '# comment\nexport A=1\nB="two words" # more\nC=\'$x\'\n\nD="a\nb"\n')
    const { code, out, err } = await run('envs', 'variables', env, '--import', file)
    expect(code, err).toBe(0)
    expect(out).toContain('Stored as secret: A, B, C, D')
    const { envVars } = await json('envs', 'get', env, '--decrypt')
    expect(envVars.map(({ name, value, type }: Record<string, string>) => [name, value, type])).toEqual([
      ['A', '1', 'DEPLOY'],
      ['B', 'two words', 'DEPLOY'],
      ['C', '$x', 'DEPLOY'],
      ['D', 'a\nb', 'DEPLOY'],
    ])
    await writeFile(file, 'OPEN=1\n')
    expect((await run('envs', 'variables', env, '--import-plain', file)).out).toContain(
      'Stored readable: OPEN',
    )
    expect(await run('envs', 'variables', env, '--import', path.join(dir, 'none'))).toMatchObject({
      code: 2,
      err: expect.stringContaining('ENOENT'),
    })
  })

  it('a new variable rebuilds nothing, unless it is for builds; a known one keeps its use', async () => {
    const env = await created()
    const pending = async () => (await json('envs', 'status', env)).pendingChanges
    await run('envs', 'variables', env, '--set', 'COLOR=green')
    expect(await pending()).toMatchObject({ hasBuildChanges: false, hasDeployChanges: true })
    await run('envs', 'variables', env, '--set-plain', 'MODE=x', '--build')
    expect(await pending()).toMatchObject({ hasBuildChanges: true })
    await run('envs', 'variables', env, '--set', 'MODE=y')
    const { envVars } = await json('envs', 'get', env)
    expect(envVars.map(({ name, type }: Record<string, string>) => [name, type])).toEqual([
      ['COLOR', 'DEPLOY'],
      ['MODE', 'BOTH'],
    ])
  })
})
