import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll } from 'vitest'
import { freePort } from '../free-port.ts'
import { removeFolder } from '../remove-folder.ts'

/** Credentials of the servers that tests start, and of nothing else. */
export const s3Credentials = {
  AWS_ACCESS_KEY_ID: 'longshore-tests',
  AWS_SECRET_ACCESS_KEY: 'not-a-secret-of-anyone',
}

/** Registers hooks: the tests of a file use these credentials. */
export function withS3Credentials(): void {
  const before = new Map(Object.keys(s3Credentials).map((name) => [name, process.env[name]]))
  beforeAll(() => {
    Object.assign(process.env, s3Credentials)
  })
  afterAll(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
}

/** S3 servers that install from package registries, each with its command line. */
const servers = [
  { program: 'moto_server', args: (port: number) => ['-H', '127.0.0.1', '-p', String(port)] },
  {
    // Also verifies the signature of each request.
    program: 'versitygw',
    args: (port: number, dir: string) => [
      ...['--access', s3Credentials.AWS_ACCESS_KEY_ID, '--secret', s3Credentials.AWS_SECRET_ACCESS_KEY],
      ...['--port', `127.0.0.1:${port}`, 'posix', dir],
    ],
  },
]

/** The S3 servers that are installed here. */
export const s3Servers: readonly string[] = servers.map(({ program }) => program).filter(isInstalled)

/** For the titles of tests that are left out. */
export const noS3Server =
  s3Servers.length > 0 ? null : 'no S3 server is installed (moto_server: pip install "moto[s3,server]")'

/** It runs: a command of a version manager may lead nowhere. */
function isInstalled(program: string): boolean {
  return spawnSync(program, ['-h'], { stdio: 'ignore' }).status === 0
}

/** A real S3 server with one bucket, `files`. */
export class S3Server {
  readonly #program: string
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-s3-'))
  #child: ChildProcess | null = null

  private constructor(
    program: string,
    readonly port: number,
  ) {
    this.#program = program
  }

  static async start(program = s3Servers[0] ?? ''): Promise<S3Server> {
    const server = new S3Server(program, await freePort())
    await server.#run()
    const client = new S3Client({
      endpoint: server.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: {
        accessKeyId: s3Credentials.AWS_ACCESS_KEY_ID,
        secretAccessKey: s3Credentials.AWS_SECRET_ACCESS_KEY,
      },
    })
    await client.send(new CreateBucketCommand({ Bucket: 'files' }))
    client.destroy()
    return server
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`
  }

  async close(): Promise<void> {
    const child = this.#child
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    removeFolder(this.#dir)
  }

  async #run(): Promise<void> {
    const { args } = servers.find(({ program }) => program === this.#program)!
    const data = path.join(this.#dir, 'data')
    mkdirSync(data)
    const child = spawn(this.#program, args(this.port, data), { stdio: 'ignore', cwd: this.#dir })
    this.#child = child
    const endMs = performance.now() + 120_000
    for (;;) {
      if (child.exitCode !== null || performance.now() > endMs)
        throw new Error(`${this.#program} does not start`)
      const answered = await fetch(this.endpoint).then(
        (answer) => answer.text().then(() => true),
        () => false,
      )
      if (answered) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}
