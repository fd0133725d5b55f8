import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { newToken } from '../../../src/domain/access/tokens.ts'
import { dockerAvailable } from '../../../testkit/engines/docker-available.ts'
import {
  contentTag,
  importImage,
  programFiles,
  testDocker,
  withLibraries,
} from '../../../testkit/engines/docker-images.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
const root = path.resolve(import.meta.dirname, '../../..')
const name = `longshore-test-image-${randomBytes(6).toString('hex')}`
const token = newToken('user')

/** Stands for node:22-bookworm-slim where no registry answers: this machine's Node, its libraries and `id`. */
async function baseImage(): Promise<string> {
  const resolve = createRequire(path.join(root, 'node_modules/libsql/index.js')).resolve
  const native = resolve(`@libsql/linux-${process.arch}-gnu`)
  const files = withLibraries(
    new Map([
      ['usr/local/bin/node', process.execPath],
      ['usr/local/lib/index.node', native],
      ...programFiles(['id']),
    ]),
  )
  const repo = 'longshore-test-deploy-base'
  const tag = contentTag(files, '1')
  const docker = testDocker()
  const found = await docker.listImages({ filters: { reference: [`${repo}:${tag}`] } })
  if (found.length === 0) await importImage(docker, repo, tag, files, [])
  return `${repo}:${tag}`
}

describe.skipIf(!dockerAvailable)(
  `deploy/Dockerfile${dockerAvailable ? '' : ': left out, Docker does not answer'}`,
  () => {
    const docker = async (...args: string[]) => {
      const running = run('docker', args, { cwd: root, timeout: 120_000 })
      running.child.stdin?.end()
      return (await running).stdout.trim()
    }

    beforeAll(async () => {
      const base = await baseImage()
      await docker(
        'build',
        '--quiet',
        '-f',
        'deploy/Dockerfile',
        '--build-arg',
        `NODE_IMAGE=${base}`,
        '-t',
        name,
        '.',
      )
    })
    afterAll(async () => {
      await docker('rm', '--force', name).catch(() => {})
      await docker('volume', 'rm', name).catch(() => {})
      await docker('rmi', '--force', name).catch(() => {})
    })

    it('serves as another user than root, without capabilities and on a read-only root file system', async () => {
      const settings = { LONGSHORE_ENGINE: 'process', LONGSHORE_BOOTSTRAP_TOKEN: token }
      await docker(
        ...['run', '--detach', '--name', name, '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL'],
        ...[
          '--security-opt',
          'no-new-privileges',
          '--publish',
          '127.0.0.1::4400',
          '--volume',
          `${name}:/data`,
        ],
        ...Object.entries(settings).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
        name,
      )
      const published = await untilRead(
        () => docker('port', name, '4400'),
        (text) => text !== '',
        'a published port',
      )
      const api = `http://${published.split('\n')[0]}`
      await untilRead(
        () => fetch(`${api}/readyz`, { signal: AbortSignal.timeout(5_000) }),
        ({ ok }) => ok,
        'a ready control plane',
      )
      const client = createClient({ url: `${api}/api/public/v1`, token, surface: 'cli' })
      expect((await client.call(listRegions, {})).regions).toMatchObject([{ engine: 'process' }])
      expect(await docker('exec', name, 'id', '-u')).toBe('10001')
      await expect(docker('exec', name, '/bin/sh', '-c', ': > /app/x')).rejects.toThrow(/Read-only/)
    })

    it('ends with 0 when it is stopped, and keeps its data', async () => {
      await docker('stop', '--time', '100', name)
      expect(await docker('inspect', '--format', '{{.State.ExitCode}}', name)).toBe('0')
      await docker('start', name)
      const logs = () => docker('logs', name)
      await untilRead(logs, (text) => text.split('\n').length >= 2, 'a second ready line')
      const [first, second] = (await logs()).split('\n').map((line) => JSON.parse(line))
      expect(second.accountId).toBe(first.accountId)
    })
  },
)
