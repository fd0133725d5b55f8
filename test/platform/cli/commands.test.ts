import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { wordsOf } from '../../../src/cli/rows/words.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { operations } from '../../../src/contract/index.ts'
import { shellFixture } from '../../../testkit/cli/shell-fixture.ts'

describe('longshore on a platform', () => {
  const fixture = shellFixture()
  const { run, json, created } = fixture

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

  it('region check shows what a region can run, and names the others for a wrong one', async () => {
    const checked = await run('region', 'check', 'plain')
    expect(checked).toMatchObject({ code: 0, out: expect.stringMatching(/^✓ engine: /) })
    expect(checked.out).toMatch(/^✗ functions: .*\(F5\)$/m)
    expect(checked.out).toMatch(/^✓ apps$/m)
    expect(await run('regions', 'check', 'moon')).toMatchObject({
      code: 1,
      err: expect.stringContaining('There are: local, plain'),
    })
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
    const ignored = await run('jobs', 'configure', 'reports-prod', '--command', 'node', '--args', 'job.js')
    expect(ignored.out).toContain('args have no effect')
    expect(ignored.out).not.toMatch(/^ *name +-$/m)
  })

  it('deletes the app again when its environment is rejected', async () => {
    const before = (await json('apps', 'list')).apps.length
    const refused = await run('create', 'Half', '--port', '80', '--region', 'nowhere')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('region must be one of')
    expect((await json('apps', 'list')).apps).toHaveLength(before)
  })

  it('names the option whose value the platform refuses', async () => {
    expect(await run('create', 'Nowhere', '--port', '0')).toMatchObject({
      code: 1,
      err: 'Error: Invalid request.\n--port: must be at least 1\n',
    })
    const name = await created('--docker-preset', 'FUNCTION')
    const scale = await run('envs', 'update', name, '--function-config', 'maxScale=-1')
    expect(scale.err).toContain('--function-config maxScale: must be at least')
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
    const source = await fixture.platform.makeEnvironment()
    const user = await fixture.platform.makeEnvironment()
    await run('envs', 'variables', source.appEnvId, '--set', 'KEY=hidden-value')
    const { cliEnvName } = await fixture.platform.admin.client.call(getAppEnv, { appEnvId: source.appEnvId })
    const { out } = await run('envs', 'variables', user.appEnvId, '--set-from', `KEY=${cliEnvName}.KEY`)
    expect(out).toContain('Stored as secret: KEY')
    const { envVars } = await fixture.platform.admin.client.call(getAppEnv, { appEnvId: user.appEnvId })
    expect(envVars[0]?.from).toEqual({ envName: cliEnvName, field: 'KEY' })
    const wrong = await run('envs', 'variables', user.appEnvId, '--set-from', 'KEY=url')
    expect(wrong.err).toContain('such as --set-from KEY=shopdb-prod.url')
    const json = JSON.stringify({ from: { envName: cliEnvName, field: 'KEY' } })
    const literal = await run('envs', 'variables', user.appEnvId, '--set', `OTHER=${json}`)
    expect([literal.code, literal.err]).toEqual([
      2,
      expect.stringContaining('--set-from OTHER=shopdb-prod.url'),
    ])
    const random = await run('envs', 'variables', user.appEnvId, '--set', 'OTHER={"generate":{}}')
    expect(random.err).toContain(`--set '{"name":"OTHER","generate":{}}'`)
    const mail = await run('envs', 'variables', user.appEnvId, '--set', 'MAIL={"from":"me@example.com"}')
    expect(mail.code, mail.err).toBe(0)
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
        ...(['domains', 'jobs', 'logs'].includes(words[0]!) || more.includes(words as string[])
          ? [name]
          : []),
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
    fixture.answers = [second.cliEnvName]
    const removed = await run('envs', 'delete', second.appEnvId)
    expect(removed).toMatchObject({ code: 0 })
    expect(removed.err).toMatch(new RegExp(`environment +${second.cliEnvName}\nid +${second.appEnvId}`))
    fixture.answers = ['Twin']
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
    expect(changes).toContain(fixture.platform.admin.email)
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
})
