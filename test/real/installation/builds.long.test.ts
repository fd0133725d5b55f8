import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restartAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus, getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { redeployAppEnv } from '../../../src/contract/deployments.ts'
import { GitHost } from '../../../testkit/builds/git-host.ts'
import { ensureNpmImage } from '../../../testkit/builds/npm-image.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { testDocker } from '../../../testkit/engines/docker-images.ts'
import { deploy, noWindow, type Status, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const server = (text: string) =>
  `const { createServer } = require('node:http')\ncreateServer((_, response) => response.end(${text})).listen(process.env.PORT)\n`

/** A package that stands in for Next: `next build` writes a page, `next start` serves it. */
const nextPackage = {
  'next/package.json': JSON.stringify({ name: 'next', version: '1.0.0', bin: { next: 'next.js' } }),
  'next/next.js': `#!/usr/bin/env node
const fs = require('node:fs')
if (process.argv[2] === 'build') fs.writeFileSync('page.txt', 'built page')
else require('node:http').createServer((_, response) => response.end(fs.readFileSync('page.txt'))).listen(process.env.PORT, process.env.HOSTNAME)
`,
}

for (const { engine, base } of await availableEngines()) {
  describe(`builds on the ${engine} engine`, () => {
    const git = new GitHost()
    let installation: Installation
    beforeAll(async () => {
      const nodeImage = engine === 'docker' ? await ensureNpmImage() : 'node:22-alpine'
      installation = new Installation({
        LONGSHORE_ENGINE: engine,
        LONGSHORE_NODE_IMAGE: nodeImage,
        LONGSHORE_GIT_BASE_URL: await git.start(),
      })
      await installation.start()
    })
    afterAll(async () => {
      await installation.dispose()
      await git.close()
    })

    const make = async (app: Record<string, unknown>, environment: Record<string, unknown> = {}) => {
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, {
        name: 'build',
        accountId,
        port: 8080,
        ...noWindow,
        ...app,
      })
      const wanted = { accountId, appId, name: 'prod', region: 'local', ...environment }
      const { appEnvId } = await client.call(createAppEnv, wanted)
      const { cliEnvName } = await client.call(getAppEnv, { appEnvId })
      return { appEnvId, host: `${cliEnvName}.app.localhost` }
    }
    const served = async (appEnvId: string, host: string, path = '/') => {
      const status = await untilDeployed(installation, appEnvId)
      expect(status.currentDeployment).toMatchObject({ status: 'DEPLOYED', failure: null })
      return (await installation.request(host, path)).body
    }
    const built = async (
      app: Record<string, unknown>,
      files: Record<string, string>,
      environment: Record<string, unknown> = {},
    ) => {
      const { appEnvId, host } = await make(app, environment)
      await deploy(installation, appEnvId, files)
      const body = await served(appEnvId, host)
      return { appEnvId, host, body }
    }
    const failed = async (app: Record<string, unknown>, files: Record<string, string>): Promise<Status> => {
      const { appEnvId } = await make(app)
      await deploy(installation, appEnvId, files)
      return untilDeployed(installation, appEnvId)
    }
    const buildLog = async (appEnvId: string) => {
      const { logs } = await installation.client().call(getLogs, { appEnvId, type: 'BUILD', size: 1000 })
      return logs.map(({ message }) => message).join('\n')
    }
    const gone = (appEnvId: string) => installation.client().call(deleteAppEnv, { appEnvId })

    it('NODE_JS runs a source that has no Dockerfile', async () => {
      const { appEnvId, body } = await built(
        { dockerPreset: 'NODE_JS' },
        { 'server.js': server('"plain node"') },
      )
      expect(body).toBe('plain node')
      await gone(appEnvId)
    })

    it('EXPRESS installs, builds and starts by the scripts of package.json', async () => {
      const packageJson = {
        name: 'web',
        version: '1.0.0',
        scripts: { build: 'node make.js', start: 'node built/app.js' },
      }
      const lock = {
        name: 'web',
        version: '1.0.0',
        lockfileVersion: 3,
        requires: true,
        packages: { '': packageJson },
      }
      const { appEnvId, body } = await built(
        { dockerPreset: 'EXPRESS' },
        {
          'package.json': JSON.stringify(packageJson),
          'package-lock.json': JSON.stringify(lock),
          'make.js': `require('node:fs').mkdirSync('built'); require('node:fs').writeFileSync('built/app.js', ${JSON.stringify(server('"express built"'))})`,
        },
      )
      expect(body).toBe('express built')
      expect(await buildLog(appEnvId)).toContain('RUN npm ci')
      await gone(appEnvId)
    })

    it('NEXT_JS builds and starts with the commands of next', async () => {
      const { appEnvId, body } = await built(
        { dockerPreset: 'NEXT_JS' },
        {
          'package.json': JSON.stringify({
            name: 'site',
            version: '1.0.0',
            dependencies: { next: 'file:./next' },
          }),
          ...nextPackage,
        },
      )
      expect(body).toBe('built page')
      await gone(appEnvId)
    })

    it('STATIC serves a folder, with types, and neither what is hidden nor what is outside', async () => {
      const { appEnvId, host, body } = await built(
        { dockerPreset: 'STATIC' },
        {
          'public/index.html': '<h1>home</h1>',
          'public/about.html': 'about',
          'public/.env': 'hidden',
          'secret.txt': 'no',
        },
      )
      expect(body).toBe('<h1>home</h1>')
      expect((await installation.request(host, '/about')).body).toBe('about')
      for (const path of ['/.env', '/secret.txt', '/..%2fsecret.txt', '/%2e%2e/secret.txt', '/none'])
        expect((await installation.request(host, path)).status, path).toBe(404)
      await gone(appEnvId)
    })

    it('a Dockerfile in the source wins over the preset', async () => {
      const { appEnvId, body } = await built(
        { dockerPreset: 'NODE_JS' },
        {
          Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY . .\nCMD ["node", "other.js"]\n`,
          'server.js': server('"preset"'),
          'other.js': server('"own Dockerfile"'),
        },
      )
      expect(body).toBe('own Dockerfile')
      await gone(appEnvId)
    })

    it('F6 a function without a Dockerfile fails and names the rule; so does what no preset generates for', async () => {
      const files = { 'server.js': server('"never"') }
      const f = await failed({ dockerPreset: 'FUNCTION' }, files)
      expect(f.currentDeployment?.failure).toMatchObject({
        reason: 'no Dockerfile',
        message: expect.stringContaining('F6'),
      })
      const custom = await failed({ dockerPreset: 'CUSTOM' }, files)
      expect(custom.currentDeployment?.failure).toMatchObject({ reason: 'no Dockerfile' })
      const empty = await failed({ dockerPreset: 'NODE_JS' }, { 'readme.md': 'nothing to start' })
      expect(empty.currentDeployment?.failure?.message).toContain('Add a "start" script')
      for (const status of [f, custom, empty]) await gone(status.appEnvId)
    })

    it('contextDir, dockerfilePath and customDockerfileContent choose what is built', async () => {
      const dockerfile = `FROM ${base}\nWORKDIR /app\nCOPY app.js .\nCMD ["node", "app.js"]\n`
      const files = {
        'app.js': server('"root"'),
        'services/web/app.js': server('"web"'),
        'services/web/docker/Prod.Dockerfile': dockerfile,
      }
      const inContext = await built(
        { contextDir: 'services/web', dockerfilePath: 'docker/Prod.Dockerfile' },
        files,
      )
      expect(inContext.body).toBe('web')
      const custom = await built({ customDockerfileContent: dockerfile }, files)
      expect(custom.body).toBe('root')
      const both = await built({ customDockerfileContent: dockerfile, contextDir: 'services/web' }, files)
      expect(both.body).toBe('web')
      for (const { appEnvId } of [inContext, custom, both]) await gone(appEnvId)
    })

    it('2.2 DEPLOY, BUILD and BOTH variables reach the run, the build, or both; a secret stays in no layer and no log', async () => {
      const secret = `s3cr3t-${Math.random().toString(36).slice(2)}`
      const envVars = [
        { name: 'AT_RUN', value: 'run', type: 'DEPLOY', isSecret: false },
        { name: 'AT_BUILD', value: 'build', type: 'BUILD', isSecret: false },
        { name: 'AT_BOTH', value: 'both', type: 'BOTH', isSecret: false },
        { name: 'BUILD_KEY', value: secret, type: 'BUILD', isSecret: true },
      ]
      const dockerfile = [
        `FROM ${base}`,
        'WORKDIR /app',
        'ARG AT_RUN',
        'ARG AT_BUILD',
        'ARG AT_BOTH',
        'ARG BUILD_KEY',
        'COPY . .',
        `RUN echo "{\\"run\\":\\"$AT_RUN\\",\\"build\\":\\"$AT_BUILD\\",\\"both\\":\\"$AT_BOTH\\",\\"secret\\":\${#BUILD_KEY}}" > built.json`,
        'RUN echo "the key is $BUILD_KEY"',
        'RUN echo "$BUILD_KEY" > key.txt && rm key.txt',
        'CMD ["node", "server.js"]',
        '',
      ].join('\n')
      const body = `JSON.stringify({ built: JSON.parse(require('node:fs').readFileSync('built.json')), ran: { run: process.env.AT_RUN, build: process.env.AT_BUILD, both: process.env.AT_BOTH, secret: process.env.BUILD_KEY } })`
      const { appEnvId, body: answer } = await built(
        {},
        { Dockerfile: dockerfile, 'server.js': server(body) },
        { envVars },
      )
      expect(JSON.parse(answer)).toEqual({
        built: { run: '', build: 'build', both: 'both', secret: secret.length },
        ran: { run: 'run', both: 'both' },
      })
      expect(await buildLog(appEnvId)).toContain('the key is ***')
      expect(await buildLog(appEnvId)).not.toContain(secret)
      const status = await installation.client().call(getAppEnvStatus, { appEnvId })
      const image = status.currentDeployment?.containerImage ?? ''
      if (engine === 'docker') {
        const history = JSON.stringify([
          await testDocker().getImage(image).history(),
          await testDocker().getImage(image).inspect(),
        ])
        expect(history).not.toContain(secret)
        const saved = execFileSync('docker', ['save', image], { maxBuffer: 1024 ** 3 })
        expect(saved.includes('built.json')).toBe(true)
        expect(saved.includes(secret)).toBe(false)
      } else {
        const found = execFileSync('grep', ['-rlF', 'the key is', installation.home], { encoding: 'utf8' })
        expect(found).not.toBe('')
        expect(() => execFileSync('grep', ['-rlF', secret, `${installation.home}/engine/images`])).toThrow()
      }
      await gone(appEnvId)
    })

    it('useVolume keeps files over a deployment', async () => {
      const dockerfile = `FROM ${base}\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n`
      const counting = server(
        `(() => { const fs = require('node:fs'), file = process.env.DATA_DIR + '/count'; const n = (fs.existsSync(file) ? Number(fs.readFileSync(file)) : 0) + 1; fs.writeFileSync(file, String(n)); return String(n) })()`,
      )
      const { appEnvId, host, body } = await built(
        {},
        { Dockerfile: dockerfile, 'server.js': counting },
        { useVolume: true, envVars: [{ name: 'DATA_DIR', value: '/data', type: 'DEPLOY', isSecret: false }] },
      )
      expect(body).toBe('1')
      await installation.client().call(restartAppEnv, { appEnvId })
      await untilRead(
        () => installation.client().call(getAppEnvStatus, { appEnvId }),
        ({ status, containers }) => status === 'RUNNING' && containers.ready === 1,
        'the restarted container',
      )
      expect((await installation.request(host)).body).toBe('2')
      await gone(appEnvId)
    })

    it('an app of a Git host is built from the head of its branch, moves to another branch by apply, and goes back by version', async () => {
      const files = (text: string) => ({
        Dockerfile: `FROM ${base}\nWORKDIR /app\nCOPY . .\nCMD ["node", "server.js"]\n`,
        'server.js': server(JSON.stringify(text)),
      })
      const first = git.commit('team/app', 'main', files('first'))
      const { appEnvId, host } = await make({ gitNamespace: 'team', gitRepo: 'app' }, { branch: 'main' })
      const client = installation.client()
      await client.call(redeployAppEnv, { appEnvId })
      expect(await served(appEnvId, host)).toBe('first')
      git.commit('team/app', 'main', files('second'))
      const { version } = await client.call(redeployAppEnv, { appEnvId })
      expect(version).toBe(2)
      expect(await served(appEnvId, host)).toBe('second')
      expect(await buildLog(appEnvId)).toContain(`Commit ${first}`)
      git.commit('team/app', 'next', files('branch'))
      await client.call(updateAppEnv, { appEnvId, branch: 'next' })
      await client.call(redeployAppEnv, { appEnvId, version: 1 })
      expect(await served(appEnvId, host)).toBe('first')
      await client.call(redeployAppEnv, { appEnvId })
      expect(await served(appEnvId, host)).toBe('branch')
      await gone(appEnvId)
    })
  })
}
