import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { Secret } from '../../src/log.ts'
import { startedAt } from '../../src/process-start.ts'
import { removeFolder } from '../remove-folder.ts'

const run = promisify(execFile)
const debianFolder = '/usr/lib/postgresql'

/** Runs a program of PostgreSQL as the user that the servers of tests run as. */
export async function runPostgresProgram(
  name: string,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  await run(path.join(postgresBin!, name), args, {
    ...(await owner()),
    cwd: os.tmpdir(),
    env: { ...process.env, ...env },
  })
}

/** Folder of PostgreSQL's programs: `POSTGRES_BIN`, else the newest of Debian's packages; null when there are none. */
const postgresBin: string | null = process.env.POSTGRES_BIN ?? newestBin()

/** For the titles of tests that are left out. */
export const noPostgres = postgresBin
  ? null
  : `PostgreSQL is not installed (${debianFolder}/*/bin/initdb: Debian's package postgresql)`

function newestBin(): string | null {
  if (!existsSync(debianFolder)) return null
  const versions = readdirSync(debianFolder).filter((name) =>
    existsSync(path.join(debianFolder, name, 'bin', 'initdb')),
  )
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0]
  return newest === undefined ? null : path.join(debianFolder, newest, 'bin')
}

/** PostgreSQL does not run as root: then its files and processes belong to another user. */
async function owner(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null
  for (const user of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (option) => Number((await run('id', [option, user])).stdout)),
      )
      return { uid: uid!, gid: gid! }
    } catch {
      // Not a user of this machine.
    }
  }
  throw new Error('there is no user that PostgreSQL can run as')
}

/** How another process of the tests reaches a server. */
export interface PostgresAccess {
  dir: string
  password: string
  /** A database that new ones are copied from. */
  template?: string
}

/** A throw-away PostgreSQL on a Unix socket of its own; commits are on disk, as in production. */
export class PostgresServer {
  #process: ChildProcess | null = null
  #databases = 0

  private constructor(
    readonly dir: string,
    readonly password: string,
    readonly user: { uid: number; gid: number } | null,
  ) {}

  /** `tlsPort`: listens there too, with a certificate for `localhost` that signs itself (`certificate`). */
  static async start(tlsPort?: number): Promise<PostgresServer> {
    const server = new PostgresServer(
      mkdtempSync(path.join(os.tmpdir(), 'longshore-pg-')),
      randomBytes(12).toString('hex'),
      await owner(),
    )
    try {
      await server.#init(tlsPort)
      await server.launch()
    } catch (error) {
      removeFolder(server.dir)
      throw error
    }
    return server
  }

  /** A server that another process started and stops. */
  static at({ dir, password }: PostgresAccess): PostgresServer {
    return new PostgresServer(dir, password, null)
  }

  /** A server on the data of another one that is in `dir`, not launched yet. */
  static async over({ dir, password }: PostgresAccess): Promise<PostgresServer> {
    return new PostgresServer(dir, password, await owner())
  }

  get access(): PostgresAccess {
    return { dir: this.dir, password: this.password }
  }

  /** Address of a database of this server. */
  url(database: string, search = ''): string {
    return `postgres://longshore:${this.password}@localhost/${database}?host=${this.dir}${search}`
  }

  /** A new database: empty, or a copy. */
  async createDatabase(template = 'template0'): Promise<{ name: string; url: Secret }> {
    const name = `d${process.pid}_${++this.#databases}_${randomBytes(3).toString('hex')}`
    await this.query('postgres', `create database ${name} template ${template}`)
    return { name, url: new Secret(this.url(name)) }
  }

  async dropDatabase(name: string): Promise<void> {
    await this.query('postgres', `drop database ${name} with (force)`)
  }

  async query(database: string, statement: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: this.dir, user: 'longshore', password: this.password, database })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }

  /** Starts the server and waits until it answers. */
  async launch(): Promise<void> {
    const child = spawn(path.join(postgresBin!, 'postgres'), ['-D', this.#data], {
      ...this.user,
      cwd: this.dir,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let output = ''
    const ready = new Promise<void>((resolve, reject) => {
      child.stderr!.on('data', (text) => {
        output = (output + text).slice(-4_000)
        if (output.includes('database system is ready to accept connections')) resolve()
      })
      child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${output}`)))
    })
    this.#process = child
    await ready
  }

  /** `SIGINT` ends it like a restart does, `SIGKILL` like a crash; resolves when all its processes are gone. */
  async halt(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    const child = this.#process
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    const helpers = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .map(Number)
    child.kill(signal)
    await exited
    // Processes that outlive a killed server exit by themselves; until then no other server can start.
    while (helpers.some((pid) => !['', 'dead'].includes(startedAt(pid)))) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    this.#process = null
  }

  /** Stops all its processes where they are, with `SIGCONT` lets them go on: connections stay, answers do not come. */
  signalAll(signal: 'SIGSTOP' | 'SIGCONT'): void {
    const { pid } = this.#process!
    const helpers = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
    for (const one of [pid!, ...helpers]) process.kill(one, signal)
  }

  async stop(): Promise<void> {
    await this.halt('SIGINT')
    removeFolder(this.dir)
  }

  get #data(): string {
    return path.join(this.dir, 'data')
  }

  get certificate(): string {
    return path.join(this.dir, 'server.crt')
  }

  async #makeCertificate(): Promise<string[]> {
    const key = path.join(this.dir, 'server.key')
    const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const files = ['-keyout', key, '-out', this.certificate]
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...files, ...name])
    if (this.user) chownSync(key, this.user.uid, this.user.gid)
    return ['ssl = on', `ssl_key_file = '${key}'`, `ssl_cert_file = '${this.certificate}'`]
  }

  async #init(tlsPort: number | undefined): Promise<void> {
    const secret = path.join(this.dir, 'password')
    mkdirSync(this.#data, { mode: 0o700 })
    writeFileSync(secret, this.password, { mode: 0o600 })
    // Others may enter the folder that holds the socket; the data stays private.
    chmodSync(this.dir, 0o755)
    for (const one of [this.dir, this.#data, secret])
      if (this.user) chownSync(one, this.user.uid, this.user.gid)
    const initdb = path.join(postgresBin!, 'initdb')
    const options = `-U longshore --pwfile ${secret} -A scram-sha-256 -E UTF8 --locale=C.UTF-8`.split(' ')
    // A locale with its own sort rules, which PostgreSQL 14 does not bring: the store must still order text by bytes.
    const { stdout: version } = await run(initdb, ['--version'])
    const locale = / 14\./.test(version) ? [] : ['--locale-provider=icu', '--icu-locale=en-US']
    await run(initdb, ['-D', this.#data, ...options, ...locale], { ...this.user, cwd: this.dir })
    const settings = [
      ...(tlsPort === undefined
        ? ["listen_addresses = ''"]
        : ["listen_addresses = '127.0.0.1'", `port = ${tlsPort}`, ...(await this.#makeCertificate())]),
      `unix_socket_directories = '${this.dir}'`,
      'max_connections = 60',
      'shared_buffers = 32MB',
      'fsync = on',
    ]
    writeFileSync(path.join(this.#data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
  }
}
