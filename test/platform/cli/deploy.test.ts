import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { unpackArchive } from '../../../src/builds/unpack-archive.ts'
import { DeployFixture } from '../../../testkit/cli/deploy-fixture.ts'
import { type Script, startScriptedPlatform } from '../../../testkit/cli/scripted-platform.ts'

const fixture = new DeployFixture()

describe('deploy from source', () => {
  const building: Script = {
    statuses: [
      { status: 'PENDING', deployment: 'BUILDING' },
      { status: 'PENDING', deployment: 'BUILDING' },
      { status: 'PENDING', deployment: 'DEPLOYING' },
      { status: 'RUNNING', deployment: 'DEPLOYED' },
    ],
    buildLog: ['Unpacked 2 files', 'Step 1/2', 'Step 2/2 \u001b[31mred', 'Built'],
  }

  it('packs, uploads, builds and ends when the version serves', async () => {
    const { code, out, err } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app], building)
    expect(code).toBe(0)
    expect(out).toMatch(
      /^Deployed shop-prod version 3 in [\d.]+ m?s: http:\/\/shop-prod\.fn\.localhost:4480\n$/,
    )
    for (const text of ['Packed 2 files', 'Uploaded', '100 %', 'Built version 3', 'Version 3 serves']) {
      expect(err).toContain(text)
    }
    expect(err.match(/Step 1\/2/g)).toHaveLength(1)
    expect(err).toContain('Step 2/2 red')
    expect(err).not.toContain('\u001b')
    expect(fixture.calls().filter((call) => call.startsWith('P'))).toEqual([
      'POST /app-env/request-storage-key',
      'POST /app-env/notify-upload',
    ])
    expect(fixture.last('POST /app-env/notify-upload')).toMatchObject({
      body: { appEnvId: 'env_1', storageKey: 'upl_1' },
      token: 'lsu_env',
      surface: 'cli',
    })
    expect(fixture.last('GET /app-env')!.query).toEqual({ envName: 'shop-prod' })
  })

  it('uploads an archive that the platform can unpack', async () => {
    await fixture.run(['--env', 'env_1', '--dir', fixture.app, '--user-token', 'lsu_flag'])
    const file = path.join(fixture.dir, 'got.tgz')
    await writeFile(file, fixture.platform!.uploads[0]!)
    const into = path.join(fixture.dir, 'got')
    const { signal } = new AbortController()
    expect(await unpackArchive({ file, extension: '.tgz', into, signal })).toMatchObject({ files: 2 })
    expect(fixture.last('GET /app-env')).toMatchObject({ query: { appEnvId: 'env_1' }, token: 'lsu_flag' })
  })

  it('F6 refuses a folder without a Dockerfile before anything is uploaded', async () => {
    await rm(path.join(fixture.app, 'Dockerfile'))
    const { code, err } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app])
    expect(code).toBe(1)
    expect(err).toContain('(F6)')
    expect(err).toContain('FROM node:22-alpine')
    expect(fixture.platform!.uploads).toEqual([])
    expect(fixture.calls()).not.toContain('POST /app-env/request-storage-key')
  })

  it('needs no Dockerfile in the source if the preset includes one, and uses the path of the app', async () => {
    await rm(path.join(fixture.app, 'Dockerfile'))
    const withDockerfile = { app: { customDockerfileContent: 'FROM x' } }
    expect((await fixture.run(['--env', 'e', '--dir', fixture.app], withDockerfile)).code).toBe(0)
    await fixture.platform!.close()
    fixture.platform = null
    const elsewhere = { app: { contextDir: 'web', dockerfilePath: 'D' } }
    const { err } = await fixture.run(['--env', 'e', '--dir', fixture.app], elsewhere)
    expect(err).toContain('There is no web/D in')
  })

  it("exits 1 with the reason and the container's output when the deployment fails", async () => {
    const { code, out, err } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app], {
      statuses: [
        { status: 'UPDATING', deployment: 'DEPLOYING' },
        {
          status: 'RUNNING',
          deployment: 'FAILED',
          failure: { reason: 'exited', message: 'It ended with code 3. get-logs shows its output.' },
        },
      ],
      runtimeLog: ['cannot start: no database'],
    })
    expect(code).toBe(1)
    expect(out).toMatch(
      /^Failed shop-prod version 3 after .*: exited: It ended with code 3\. longshore logs shop-prod shows its output\.\n$/,
    )
    expect(err).toContain('cannot start: no database')
    expect(err).toContain(
      'Version 2 still serves. longshore why shop-prod shows the cause and the next step.',
    )
  })

  it('a deployed job is ready for runs, and serves nothing', async () => {
    const script = { isFunction: false, isJob: true }
    const { code, out, err } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app], script)
    expect(code).toBe(0)
    expect(err).toContain('Version 3 is ready for runs')
    expect(err).toMatch(/Start a run: longshore jobs run shop-prod -- <command>$/m)
    expect(`${out}${err}`).not.toMatch(/serves|curl/)
  })

  it('builds the branch of an app that uses a Git host, with --git', async () => {
    const { code, out } = await fixture.run(['shop-prod', '--git'], building)
    expect(code).toBe(0)
    expect(out).toMatch(/^Deployed shop-prod version 3/)
    expect(fixture.calls().filter((call) => call.startsWith('P'))).toEqual(['POST /app-env/redeploy'])
    expect((await fixture.run(['shop-prod', '--git', '--dir', fixture.app])).err).toContain(
      'use --git without',
    )
  })

  it('names what a folder of Git lacks: files of LFS and submodules', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n'
    await writeFile(path.join(fixture.app, '.gitattributes'), '*.bin filter=lfs\n')
    await writeFile(path.join(fixture.app, 'a.bin'), pointer)
    await writeFile(path.join(fixture.app, '.gitmodules'), '[submodule "x"]\n\tpath = libs/x\n')
    const { out } = await fixture.run(['shop-prod', '--dir', fixture.app, '--dry-run'])
    expect(out).toContain('Pointers of Git LFS, not the files: a.bin')
    expect(out).toContain('Submodules without files: libs/x')
  })

  it('names no command where the job has one', async () => {
    const script = { isFunction: false, isJob: true, command: 'node a.js' }
    const { err } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app], script)
    expect(err).toMatch(/Start a run: longshore jobs run shop-prod$/m)
  })

  it('exits 1 when another deployment replaced it', async () => {
    const { code, out } = await fixture.run(['--env', 'shop-prod', '--dir', fixture.app], {
      statuses: [{ status: 'UPDATING', deployment: 'BUILDING', contentId: 'dep_9' }],
    })
    expect(code).toBe(1)
    expect(out).toContain('superseded: Version 4 replaced it')
  })

  it('passes on the message of a rejected upload', async () => {
    const refusal = { status: 413, body: { error: 'Upload too large', details: 'At most 512 MiB.' } }
    const { code, err } = await fixture.run(['--env', 'e', '--dir', fixture.app], {
      refuse: { 'PUT /uploads': refusal },
    })
    expect(code).toBe(1)
    expect(err).toContain('Error: Upload too large.\nAt most 512 MiB.')
    expect(fixture.calls()).not.toContain('POST /app-env/notify-upload')
  })
})

describe('deploy of an image', () => {
  it('sends the reference', async () => {
    const { code } = await fixture.run(['--env', 'e', '--image', 'registry.example.com/team/app:1.2'])
    expect(code).toBe(0)
    expect(fixture.last('POST /app-env/deploy-image')!.body).toEqual({
      appEnvId: 'env_1',
      image: 'registry.example.com/team/app:1.2',
    })
    expect(fixture.platform!.uploads).toEqual([])
  })
})

it('Ctrl-C stops watching, not the deployment, and says so', async () => {
  const statuses = [{ status: 'PENDING', deployment: 'BUILDING' }]
  fixture.platform = await startScriptedPlatform({ statuses })
  const env = { LONGSHORE_URL: fixture.platform.url, LONGSHORE_TOKEN: 't' }
  const { code, err } = await fixture.runAgainst(['--env', 'e', '--image', 'app:1'], env, (stop) => {
    const watch = setInterval(() => {
      if (!fixture.calls().includes('GET /logs')) return
      clearInterval(watch)
      stop()
    }, 5)
  })
  expect(code).toBe(130)
  expect(err).toContain('The deployment of version 3 continues.')
})
