import { readFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Cli, CliCommand } from '../../../src/cli/cli-command.ts'
import { fieldsOf } from '../../../src/cli/row-fields.ts'
import { wordsOf } from '../../../src/cli/row-names.ts'
import { commandOf } from '../../../src/cli/row-tree.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import { createProgram } from '../../../src/server/program.ts'
import { runCli } from '../../../src/server/run-cli.ts'
import { until } from '../../../testkit/platform/story.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

const silent = { stdout: { write: () => true }, stderr: { write: () => true }, onInterrupt: () => () => {} }
const nowhere: Cli = { env: {}, io: silent, json: false, words: [], program: null, path: '' }

describe('commands derived from the contract rows', () => {
  it('every operation, and so every agent tool, has a unique command', () => {
    const program = createProgram(nowhere, () => {})
    for (const row of operations) expect(commandOf(program, row), row.id).not.toBeNull()
    const words = operations.map(({ id }) => wordsOf(id).join(' '))
    expect(new Set(words).size).toBe(operations.length)
    const ids = new Set(operations.map(({ id }) => id))
    expect(tools.filter(({ name }) => !ids.has(name)).map(({ name }) => name)).toEqual([])
  })

  it('the command of a new operation is derived from its id', () => {
    expect(wordsOf('list-invitations')).toEqual(['invitations', 'list'])
    expect(wordsOf('accept-invitation')).toEqual(['invitations', 'accept'])
    expect(wordsOf('get-app-env-status')).toEqual(['envs', 'status'])
    expect(wordsOf('verify-app-env-domain')).toEqual(['envs', 'verify-domain'])
  })

  it('every command has one example in its help, and understands it', async () => {
    const leaves: string[] = []
    const walk = (command: CliCommand, words: string) => {
      if (command.commands.length === 0 || words === 'mcp') leaves.push(words)
      for (const one of command.commands) walk(one as CliCommand, `${words} ${one.name()}`.trim())
    }
    walk(
      createProgram(nowhere, () => {}),
      '',
    )
    const said = { text: '' }
    const stream = { write: (text: string) => (said.text += text) }
    const io = { stdout: stream, stderr: stream, onInterrupt: () => () => {} }
    // The port of no service: a call that is understood ends with an error of the connection.
    const env = { LONGSHORE_URL: 'http://127.0.0.1:1', LONGSHORE_TOKEN: 'lsu_none' }
    const changesThisMachine = /^(?:serve|mcp|mcp install|stop|demo|secrets rotate|store copy|audit verify)$/
    for (const words of leaves) {
      said.text = ''
      await runCli([...words.split(' '), '--help'], env, io)
      const examples = [...said.text.matchAll(/^Example: longshore (.*)$/gm)].map(([, example]) => example!)
      expect(examples, words).toHaveLength(1)
      expect(`${examples[0]} `).toMatch(new RegExp(`^${words} `))
      // Types are in small letters, and an argument is a name that can be pasted.
      expect(examples[0], words).not.toMatch(/--type [A-Z]|\bENVIRONMENT\b/)
      if (changesThisMachine.test(words) || /config\.json/.test(examples[0]!)) continue
      said.text = ''
      const code = await runCli(examples[0]!.replaceAll("'", '').split(' '), env, io)
      expect(code, `${examples[0]}: ${said.text}`).not.toBe(2)
    }
  })

  it('help fits the terminal, and shows only options that the command takes', async () => {
    const help = async (...argv: string[]) => {
      let out = ''
      const stdout = { write: (text: string) => (out += text) }
      await runCli([...argv, '--help'], {}, { ...silent, stdout } as never)
      return out
    }
    for (const words of [['serve'], ['mcp'], ['deploy'], ['probe'], ['store', 'copy'], ['jobs']]) {
      const wide = (await help(...words)).split('\n').filter((line) => line.length > 80)
      expect(
        wide.filter((line) => !line.startsWith('Example: ')),
        words.join(' '),
      ).toEqual([])
    }
    const install = await help('mcp', 'install')
    expect(install).not.toMatch(/Global|--json/)
    expect(install.match(/--read-only \[on\]/g)).toHaveLength(1)
    expect(await help('envs', 'list')).toContain('--json')
  })

  it('every option and every id of a derived command has a text in its help', () => {
    const program = createProgram(nowhere, () => {})
    const silentOnes: string[] = []
    for (const row of operations) {
      const command = commandOf(program, row)!
      const words = wordsOf(row.id).join(' ')
      for (const one of [
        ...command.options.filter(({ hidden }) => !hidden),
        ...command.registeredArguments,
      ]) {
        const about = one.description.replace(/^ *(?:one of|default|repeatable|\(or)\b.*$/, '')
        if (about === '') silentOnes.push(`${words} ${one.name()}`)
      }
    }
    expect(silentOnes).toEqual([])
    for (const noun of program.commands) {
      expect(noun.description(), noun.name()).toMatch(/ /)
    }
  })

  it('every command that makes one change takes --dry-run, but those that README names', () => {
    const program = createProgram(nowhere, () => {})
    const without = operations
      .filter((row) => !isRead(row))
      .filter((row) => !commandOf(program, row)!.options.some(({ long }) => long === '--dry-run'))
      .map(({ id }) => wordsOf(id).join(' '))
    expect(without.sort()).toEqual(['alerts refresh', 'contact-points test', 'probe', 'token rotate'])
    const deploy = program.commands.find((one) => one.name() === 'deploy')!
    expect(deploy.options.map(({ long }) => long)).toContain('--dry-run')
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8')
    for (const words of ['create', ...without])
      expect(readme).toMatch(new RegExp(`\\\`${words}\\\`[^.]*have no\\s+\\\`--dry-run\\\``))
  })

  it('no text of an input cites an internal document', () => {
    for (const { input, id } of operations) {
      const errors = input.safeParse({ idleTimeoutSeconds: 1, ttlSecondsAfterFinished: 1 }).error?.message
      expect(`${id} ${errors}`).not.toMatch(/\bsection \d|\.md\b/)
    }
  })

  it('every field of every input can be given', () => {
    for (const row of operations) {
      const { properties = {} } = z.toJSONSchema(row.input, { io: 'input', unrepresentable: 'any' })
      const { positionals, account, options } = fieldsOf(row)
      const givable = new Set([
        ...positionals.flatMap((name) => (name === 'environment' ? ['appEnvId', 'envName'] : [name])),
        ...options.map(({ field }) => field),
        ...(account === null ? [] : ['accountId']),
      ])
      expect(
        Object.keys(properties).filter((field) => !givable.has(field)),
        row.id,
      ).toEqual([])
      // Commander derives the field name from the flag.
      for (const { field, flags } of options) expect(flags[0]!.attributeName()).toBe(field)
    }
  })
})

describe('longshore on a platform', () => {
  let platform: TestPlatform
  let answers: string[] = []
  beforeAll(async () => {
    platform = await TestPlatform.start()
  })
  afterAll(() => platform.close())
  beforeEach(() => {
    answers = []
  })

  async function run(...argv: string[]) {
    const said = { out: '', err: '' }
    const io = {
      stdout: { write: (text: string) => (said.out += text) },
      stderr: { write: (text: string) => (said.err += text) },
      onInterrupt: () => () => {},
      ask: async () => answers.shift() ?? null,
    }
    const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: platform.admin.token }
    return { code: await runCli(argv, env, io as never), ...said }
  }
  async function json(...argv: string[]) {
    const { code, out, err } = await run(...argv, '--json')
    expect(code, err + out).toBe(0)
    return JSON.parse(out)
  }
  let count = 0
  /** The cliEnvName of a new function or app. */
  async function created(...options: string[]): Promise<string> {
    count += 1
    return (await json('create', `Shell ${count}`, '--port', '8080', '--region', 'local', ...options))
      .cliEnvName
  }

  it('creates an app with its environment, and shows both', async () => {
    const made = await run('create', 'Corner shop', '--port', '8080')
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringContaining('Created corner-shop-prod: app app_'),
    })
    expect(made.out).toContain('longshore deploy --env corner-shop-prod --dir')
    expect((await run('apps', 'list')).out).toMatch(/^appId +name +.*\n(.*\n)*app_\w+ +Corner shop /m)
    expect((await run('envs', 'list')).out).toMatch(/^corner-shop-prod +env_\w+ /m)
    expect((await run('envs', 'get', 'corner-shop-prod')).out).toMatch(/^status +STOPPED$/m)
    expect((await run('status', 'corner-shop-prod')).out).toMatch(/^status +STOPPED$/m)
    expect((await json('envs', 'status', 'corner-shop-prod')).status).toBe('STOPPED')
  })

  it('the next step after create and before a run is a command that works', async () => {
    const image = await run('create', 'From image', '--port', '8080', '--use-image', '--image', 'team/app:1')
    expect(image.out).toContain('longshore deploy --env from-image-prod --image <reference>')
    await run('create', 'Reports', '--docker-preset', 'JOB')
    const early = await run('jobs', 'run', 'reports-prod')
    expect(early.err).toContain('longshore deploy <environment> --dir <folder>')
    expect(early.err).not.toContain('request-storage-key')
    const milliseconds = await run('jobs', 'configure', 'reports-prod', '--timeout-seconds', '30m')
    expect(milliseconds.err).toContain('must be a number of seconds')
  })

  it('deletes the app again when its environment is rejected', async () => {
    const before = (await json('apps', 'list')).apps.length
    const refused = await run('create', 'Half', '--port', '80', '--region', 'nowhere')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('region must be one of')
    expect((await json('apps', 'list')).apps).toHaveLength(before)
  })

  it("converts lists, NAME=value, key=value, numbers and switches to the platform's input", async () => {
    const name = await created('--docker-preset', 'FUNCTION', '--function-config', 'maxScale=2')
    const words = ['--set', 'COLOR=a=b', '--set', '{"name":"OPEN","value":"1","isSecret":false}']
    const saved = await run('envs', 'variables', name, ...words)
    expect(saved.out).toContain('Stored as secret: COLOR (--set-plain stores a readable value).')
    expect(saved.out).toContain('Stored readable: OPEN.')
    // Operation ids in messages are replaced with commands.
    expect(saved.out).toContain('longshore envs apply applies them')
    const { envVars, functionConfig } = await json('envs', 'get', name, '--decrypt')
    expect(envVars).toMatchObject([
      { name: 'COLOR', value: 'a=b', isSecret: true },
      { name: 'OPEN', value: '1', isSecret: false },
    ])
    expect(functionConfig.maxScale).toBe(2)
    await json(
      'envs',
      'update',
      name,
      '--function-config',
      '{"minScale":1}',
      '--function-config',
      'maxScale=3',
    )
    expect((await json('envs', 'get', name)).pendingChanges.deployPendingChanges).not.toEqual([])
    await json('envs', 'variables', name, '--unset', 'COLOR')
    expect((await json('envs', 'get', name)).envVars.map((one: { name: string }) => one.name)).toEqual([
      'OPEN',
    ])
  })

  it('refers to a value of another environment with --set-from', async () => {
    const [source, user] = [await platform.makeEnvironment(), await platform.makeEnvironment()]
    await run('envs', 'variables', source.appEnvId, '--set', 'KEY=hidden-value')
    const { cliEnvName } = await platform.admin.client.call(getAppEnv, { appEnvId: source.appEnvId })
    const { out } = await run('envs', 'variables', user.appEnvId, '--set-from', `KEY=${cliEnvName}.KEY`)
    expect(out).toContain('Stored as secret: KEY')
    const { envVars } = await platform.admin.client.call(getAppEnv, { appEnvId: user.appEnvId })
    expect(envVars[0]?.from).toEqual({ envName: cliEnvName, field: 'KEY' })
    const wrong = await run('envs', 'variables', user.appEnvId, '--set-from', 'KEY=url')
    expect(wrong.err).toContain('such as --set-from KEY=shopdb-prod.url')
  })

  it('stores --set-plain readable, and names what a known variable is now', async () => {
    const name = await created()
    const both = await run('envs', 'variables', name, '--set-plain', 'SIZE=a=b', '--set', 'KEY=k')
    expect(both.out).toContain('Stored as secret: KEY')
    expect(both.out).toContain('Stored readable: SIZE.')
    // Without isSecret a known variable keeps its flag.
    expect((await run('envs', 'variables', name, '--set', 'SIZE=2')).out).toContain('Stored readable: SIZE.')
    expect((await json('envs', 'get', name)).envVars).toMatchObject([
      { name: 'KEY', isSecret: true },
      { name: 'SIZE', value: '2', isSecret: false },
    ])
  })

  it('shows lists without raw JSON, and says what to do about an empty one', async () => {
    const name = await created()
    const { accounts } = await json('accounts', 'list')
    const listed = (await run('accounts', 'list')).out
    expect(listed).toMatch(new RegExp(`^accountId +name .*\n${accounts[0].accountId} +`))
    expect((await run('regions', 'list')).out).toMatch(
      /^region .* machine and metadata blocked\n.* (?:yes|no: .+)$/m,
    )
    const lists = operations.map(({ id }) => wordsOf(id)).filter(([, verb]) => verb === 'list')
    const more = ['pods', 'history', 'changes', 'usage', 'metrics', 'explain-access', 'get'].map((verb) => [
      'envs',
      verb,
    ])
    for (const words of [...lists, ...more, ['user', 'get'], ['logs'], ['jobs', 'settings']]) {
      const { code, out, err } = await run(
        ...words,
        ...(words[0] === 'jobs' || words[0] === 'logs' || more.includes(words as string[]) ? [name] : []),
      )
      if (words[1] !== 'settings') expect(code, words.join(' ') + err).toBe(0)
      expect(`${out}${err}`.trim(), words.join(' ')).not.toBe('')
      expect(out, words.join(' ')).not.toMatch(/[{}]|\[object/)
    }
    expect((await run('backup', 'list')).out).toBe(
      'There are no backups. Make one: longshore backup create <environment>\n',
    )
    expect((await run('contact-points', 'list')).out).toContain('Make one: longshore contact-points create')
    expect((await run('envs', 'pods', name)).out).toContain('No container runs.')
    expect((await run('logs', name, '--search', 'x')).err).toBe('No log line matches.\n')
  })

  it('names what it deletes beside the id, and the environment of an answer by the name that calls take', async () => {
    const first = await json('create', 'Twin', '--port', '8080')
    const second = await json('create', 'Twin', '--port', '8080')
    expect(second.cliEnvName).not.toBe(first.cliEnvName)
    const updated = await run('envs', 'variables', second.appEnvId, '--set-plain', 'A=1')
    expect(updated.out).toMatch(new RegExp(`^ +cliEnvName +${second.cliEnvName}$`, 'm'))
    const shown = await run('apps', 'get', second.appId)
    expect(shown.out).toContain(second.cliEnvName)
    expect(shown.out).not.toContain(`${first.cliEnvName} `)
    answers = [second.cliEnvName]
    const removed = await run('envs', 'delete', second.appEnvId)
    expect(removed).toMatchObject({ code: 0 })
    expect(removed.err).toMatch(new RegExp(`environment +${second.cliEnvName}\nid +${second.appEnvId}`))
    answers = ['Twin']
    const app = await run('apps', 'delete', second.appId)
    expect(app).toMatchObject({ code: 0 })
    expect(app.err).toMatch(new RegExp(`app +Twin\nid +${second.appId}`))
  })

  it('deploy --dry-run checks the call, and uploads and changes nothing', async () => {
    const name = await created('--docker-preset', 'FUNCTION')
    const dir = path.resolve('examples/hello-function')
    const shown = await run('deploy', name, '--dir', dir, '--fn-max-scale', '2', '--dry-run')
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('Uploads 2 files') })
    expect(shown.out).toMatch(/^ {2}functionConfig\.maxScale: .* -> 2$/m)
    const image = await run('deploy', name, '--image', 'team/app:1', '--dry-run')
    expect(image.out).toContain('Pulls team/app:1')
    expect(await run('deploy', name, '--dir', os.tmpdir(), '--dry-run')).toMatchObject({ code: 1 })
    const { pendingChanges, currentVersion } = await json('envs', 'get', name)
    expect({ currentVersion, pending: pendingChanges.deployPendingChanges }).toEqual({
      currentVersion: null,
      pending: [],
    })
    const alert = ['alerts', 'create', name, '--metric', 'ingress_request_rate', '--dry-run']
    const previewed = await run(...alert)
    expect(previewed.out, previewed.err).toContain('Nothing was changed.')
    expect((await json('alerts', 'list', name)).alerts).toEqual([])
  })

  it('takes names where a call takes ids, and suggests the name that was probably meant', async () => {
    const { cliEnvName, appId } = await json('create', 'Named shop', '--port', '8080')
    expect((await json('apps', 'get', 'Named shop')).appId).toBe(appId)
    const second = await json('envs', 'create', 'Named shop', '--name', 'next', '--region', 'local')
    expect(second.appEnvId).toMatch(/^env_/)
    const wrong = await run('apps', 'get', 'Named sho')
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('Did you mean Named shop?') })
    await json('create', 'Twice', '--port', '8080')
    await json('create', 'Twice', '--port', '8080')
    expect((await run('apps', 'get', 'Twice')).err).toMatch(
      /2 apps have the name Twice.\nGive the id: app_\w+, app_/,
    )
    // A mistyped name, and the name of an app with two environments.
    expect((await run('status', 'named-shop-prdo')).err).toContain(`Did you mean ${cliEnvName}?`)
    expect((await run('envs', 'stop', 'Named shop')).err).toContain(
      `Did you mean ${cliEnvName} or named-shop-next?`,
    )
    // It exists, so the name is not what is wrong.
    expect((await run('envs', 'redeploy', cliEnvName, '--version', '7')).err).not.toContain('Did you mean')
    await json(
      'contact-points',
      'create',
      '--type',
      'webhook',
      '--name',
      'ops',
      '--config',
      'url=https://example.com',
    )
    const alert = ['alerts', 'create', cliEnvName, '--metric', 'cpu_percent', '--contact-point-ids', 'ops']
    expect((await run(...alert)).out).toContain('Notifies ops.')
  })

  it('shows names for ids: objects of the audit log, users of the history, environments of members', async () => {
    const name = await created()
    await json('members', 'add', '--email', 'ann@example.com', '--name', 'Ann')
    await json('members', 'set-access', 'ann@example.com', '--allowed-app-env-ids', name)
    await json('envs', 'variables', name, '--set-plain', 'A=1')
    const audit = (await run('audit', 'list')).out
    expect(audit).toMatch(new RegExp(`update-app-env-variables +${name} +env_`))
    expect(audit).toMatch(/update-member-env-access +ann@example\.com +mem_/)
    const members = (await run('members', 'list')).out
    expect(members).toMatch(new RegExp(`ann@example\\.com .* ${name}$`, 'm'))
    expect((await run('members', 'access', 'ann@example.com')).out).toContain(name)
    const changes = (await run('envs', 'changes', name)).out
    expect(changes).toContain(platform.admin.email)
    expect(changes).not.toContain('usr_')
    await run('members', 'remove', 'ann@example.com', '--yes')
  })

  it('shows the rules of an access and the causes of the catalog in full', async () => {
    const { causes } = await json('causes', 'list')
    const listed = (await run('causes', 'list')).out
    for (const { cause, meaning } of causes) {
      expect(listed).toContain(`${cause}\n`)
      expect(listed).toContain(meaning)
    }
    const name = await created()
    const access = await run('envs', 'explain-access', name)
    expect(access.out).toMatch(/because +.{61,}/)
    expect(access.out).not.toContain('…')
  })

  it('passes on an error with its rule and remedy', async () => {
    const name = await created('--docker-preset', 'FUNCTION')
    const { code, err } = await run('envs', 'scale', name, '--containers', '3')
    expect(code).toBe(1)
    expect(err).toContain('(F8)')
    expect(JSON.parse((await run('envs', 'scale', name, '--containers', '3', '--json')).out)).toMatchObject({
      ok: false,
      rule: 'F8',
    })
  })

  it('asks for the name before destructive calls, unless --yes is given; --dry-run changes nothing', async () => {
    const name = await created()
    const there = async () => (await run('envs', 'get', name)).code === 0
    const previewed = await run('envs', 'delete', name, '--dry-run')
    expect(previewed).toMatchObject({ code: 0, out: expect.stringContaining('Nothing was changed.') })
    expect(previewed.out).toMatch(/^(?:[A-Z][^{}"]*\.\n)+$/)
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 2,
      err: expect.stringContaining('this cannot be undone: add --yes to confirm'),
    })
    answers = ['prod']
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 2,
      err: expect.stringContaining('does not match'),
    })
    expect(await there()).toBe(true)
    answers = [name]
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 0,
      out: expect.stringContaining('deleted'),
    })
    expect(await there()).toBe(false)
    const other = await created()
    expect((await run('envs', 'delete', other, '--yes')).code).toBe(0)
  })

  it('previews a change as sentences and one line for each field', async () => {
    const name = await created()
    const scaled = await run('envs', 'update', name, '--name', 'Shop', '--dry-run')
    expect(scaled.out).toMatch(/^ {2}name: prod -> Shop$/m)
    const made = await run('apps', 'create', '--name', 'Corner', '--port', '80', '--dry-run')
    expect(made.out).toMatch(/^ {2}name: - -> Corner$/m)
    expect(made.out).toMatch(/^ {2}port: - -> 80$/m)
    expect(made.out).not.toMatch(/^ *: /m)
  })

  it('takes the environment as a word or as --env, whatever the command', async () => {
    const name = await created()
    for (const command of [
      ['envs', 'get'],
      ['status'],
      ['logs'],
      ['alerts', 'list'],
      ['jobs', 'list'],
      ['backup', 'list'],
    ])
      for (const named of [[name], ['--env', name], [`--env=${name}`]])
        expect(await run(...command, ...named), [...command, ...named].join(' ')).toMatchObject({
          code: 0,
          // A log without lines says so beside the output.
          err: command[0] === 'logs' ? expect.stringContaining('has written anything yet') : '',
        })
    expect((await run('envs', 'scale', '--containers', '2', '--env', name)).code).toBe(0)
    expect((await json('envs', 'get', name)).containers).toBe(2)
    expect((await run('deploy', '--env', 'no-such', '--image', 'x:1')).err).toContain('not found')
    expect((await run('deploy', 'no-such', '--image', 'x:1')).err).toContain('not found')
    expect((await run('backup', 'create', '--env', 'no-such')).err).toContain('not found')
    expect(await run('deploy', '--image', 'x:1')).toMatchObject({ code: 2 })
    expect(await run('status', name, '--env', 'other')).toMatchObject({ code: 2 })
  })

  it('shows an environment by the name that calls take', async () => {
    const { renderResult } = await import('../../../src/cli/render.ts')
    const rows = [{ appEnv: { name: 'prod', cliEnvName: 'shop-prod' } }]
    expect(renderResult({ restores: rows })).toEqual(['appEnv', 'shop-prod'])
  })

  it('names the shell command where the platform names an operation', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    const message = 'The container was lost. get-logs shows its output.'
    platform.engine.knobs.failStarts = { times: 1, reason: 'exited', message }
    const { cliEnvName } = await json('envs', 'get', appEnvId)
    await run('envs', 'deploy-image', appEnvId, '--image', 'team/app:1')
    const failed = await until(
      () => run('status', appEnvId),
      ({ out }) => out.includes('FAILED'),
      'a failed deployment',
    )
    expect(failed.out).toContain(`The container was lost. longshore logs ${cliEnvName} shows its output.`)
    const history = (await run('envs', 'history', appEnvId)).out
    expect(history).toContain('The container was lost.')
    expect(`${failed.out}${history}`).not.toContain('get-logs')
  })

  it('lists the versions of managed databases with what runs here', async () => {
    const { out } = await run('databases', 'presets')
    expect(out).toMatch(/^preset +version +label +variant +available$/m)
    expect(out).toMatch(/^POSTGRESQL +\S+ \(default\) +PostgreSQL \S+.* +(?:yes|no: [A-Z].*)$/m)
    expect(out).not.toContain('{')
    const { presetLines } = await import('../../../src/cli/row-reports.ts')
    const version = { key: '7-alpine', label: 'Redis 7', image: 'redis:7', variant: 'alpine' }
    const preset = {
      dockerPreset: 'REDIS',
      defaultVersion: '7',
      versions: [{ ...version, available: false }],
    }
    expect(presetLines({ presets: [preset as never] })[1]).toMatch(
      /^REDIS {3}7-alpine {2}Redis 7 {2}alpine {3}no: it cannot run here$/,
    )
  })

  it('M8: turns member access on, restricts a member, and never lifts a restriction by leaving a list out', async () => {
    const name = await created()
    const { appEnvId } = await json('envs', 'get', name)
    const { membershipId, token } = await json('members', 'add', '--email', 'a@b.example', '--name', 'Ann')
    expect(token).toMatch(/^lsu_/)
    expect((await run('accounts', 'update', '--member-env-access-enabled')).code).toBe(0)
    expect((await run('members', 'set-access', membershipId, '--allowed-app-env-ids', appEnvId)).code).toBe(0)
    expect(await json('members', 'access', membershipId)).toMatchObject({
      enabled: true,
      access: 'restricted',
    })
    const forgotten = await run('members', 'set-access', membershipId)
    expect(forgotten).toMatchObject({ code: 2, err: expect.stringContaining('--full-access') })
    expect((await json('members', 'access', membershipId)).access).toBe('restricted')
    expect((await run('members', 'set-access', membershipId, '--full-access')).code).toBe(0)
    expect((await json('members', 'access', membershipId)).access).toBe('full')
    expect((await run('members', 'list')).out).toMatch(/a@b\.example +Ann/)
    expect((await run('accounts', 'update', '--no-member-env-access-enabled')).code).toBe(0)
    expect((await json('accounts', 'list')).accounts[0].settings.memberEnvAccessEnabled).toBe(false)
    expect((await run('members', 'remove', membershipId, '--yes')).code).toBe(0)
  })

  it('undoes a change of the audit log', async () => {
    const name = await created()
    await json('envs', 'update', name, '--name', 'Renamed')
    const { entries } = await json('audit', 'list', '--limit', '1')
    expect((await run('audit', 'list', '--limit', '1')).out).toContain(entries[0].entryId)
    expect((await run('audit', 'undo', entries[0].entryId)).code).toBe(0)
    expect((await json('envs', 'get', name)).name).toBe('prod')
  })

  it('shows log lines, newest last, and follows them until Ctrl-C', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'CUSTOM', useImage: true } })
    await run('envs', 'deploy-image', appEnvId, '--image', 'team/app:1')
    const built = await until(
      () => run('logs', appEnvId, '--type', 'BUILD'),
      ({ out }) => out !== '',
      'a build log',
    )
    expect(built).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^2\d{3}-\S+Z {2}pulled team\/app:1\n$/),
    })
    let interrupt = () => {}
    const lines: string[] = []
    const io = {
      stdout: { write: (text: string) => lines.push(text) },
      stderr: { write: () => true },
      onInterrupt: (callback: () => void) => {
        interrupt = callback
        return () => {}
      },
    }
    const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: platform.admin.token }
    const following = runCli(['logs', appEnvId, '--type', 'BUILD', '--follow'], env, io)
    await until(
      async () => lines.length,
      (shown) => shown === 1,
      'the first line',
    )
    interrupt()
    expect(await following).toBe(130)
    expect(await run('logs', 'no-such-env', '--follow')).toMatchObject({ code: 1 })
  })

  it('prints no control characters', async () => {
    const listed = { alerts: [{ name: '\u001b[31mred\u202e', state: 'x\ny' }] }
    const { renderResult } = await import('../../../src/cli/render.ts')
    expect(renderResult(listed)).toEqual(['name  state', 'red   x y'])
    expect(renderResult({ alerts: [] })).toEqual(['There are no alerts.'])
  })

  it.each([
    [['envs', 'scale', 'e'], '--containers <n> is required'],
    [['envs', 'scale', 'e', '--containers', 'many'], 'must be a number, not "many"'],
    [['envs', 'scael', 'e'], 'there is no envs command "scael"; did you mean scale?'],
    [['envz'], 'there is no command "envz"; did you mean envs?\nSee'],
    [['stat'], 'there is no command "stat"; did you mean status?'],
    [['envs', 'stat'], 'there is no envs command "stat"; did you mean status?'],
    [['stp'], 'there is no command "stp".\n'],
    [['envs', 'delet', 'e'], 'there is no envs command "delet".\n'],
    [['envs', 'list', '--jso'], "Unknown option '--jso'; did you mean --json?\n"],
    [['envs', 'variables', 'e', '--remove', 'A'], "Unknown option '--remove'; did you mean --unset?"],
    [['envs', 'delete', 'e', '--ye'], "Unknown option '--ye'.\n"],
    [['deploy', '--envv', 'x'], "Unknown option '--envv'; did you mean --env?"],
    [['token', 'create', '--name', '--read-only'], '--name needs a value'],
    [['apps', 'create', '--name', 'x', '--docker-preset', 'COBOL'], '--docker-preset must be one of CUSTOM,'],
    [
      ['envs', 'update', 'e', '--function-config', 'maxScael=1'],
      'has no key "maxScael"; known keys: containerConcurrency,',
    ],
    [['envs', 'update', 'e', '--function-config', 'x'], 'key=value or JSON'],
    [['envs', 'variables', 'e', '--set', 'COLOR'], '--set takes NAME=value, such as --set COLOR=green'],
    [['envs', 'variables', 'e'], 'give at least one --set NAME=value'],
    [['envs', 'get', 'e', '--', 'x'], 'only jobs run accepts --'],
    [['envs', 'get', ''], 'the name of the environment is empty'],
  ])('asks nothing of the platform on a wrong call: %j', async (argv, words) => {
    const { code, err, out } = await run(...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(words)
    expect(err).toMatch(/\nSee: longshore( [a-z-]+)* --help\n$/)
  })
})
