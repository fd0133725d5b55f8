import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { psql } from './fixture.ts'

const reconnectMs = 50

/** Commits one row after the other over one connection, and reconnects after failures. */
export class CommittingWriter {
  readonly #url: string
  readonly #acknowledged = new Set<number>()
  #sent = 0
  #over = false
  /** Rows acknowledged over the present connection. */
  #fresh = 0
  #connections = 0
  #client: ChildProcess | null = null
  #writing: Promise<void> | null = null

  constructor(url: string) {
    this.#url = url
  }

  get committed(): number {
    return this.#acknowledged.size
  }

  /** Over how many connections it has committed, and how many rows over the last one. */
  get connected(): { connections: number; rows: number } {
    return { connections: this.#connections, rows: this.#fresh }
  }

  async start(): Promise<void> {
    await psql(this.#url, 'create table committed (n int primary key)')
    this.#writing = this.#write()
  }

  async stop(): Promise<void> {
    this.#over = true
    this.#client?.kill('SIGKILL')
    await this.#writing
  }

  /** Rows that were acknowledged but are missing, and rows that were never sent. */
  async wrong(url = this.#url): Promise<string[]> {
    const rows = new Set((await psql(url, 'select n from committed')).split('\n').filter(Boolean).map(Number))
    const lost = [...this.#acknowledged].filter((n) => !rows.has(n)).map((n) => `row ${n} is lost`)
    const strange = [...rows].filter((n) => n > this.#sent).map((n) => `row ${n} was never sent`)
    return [...lost, ...strange]
  }

  async #write(): Promise<void> {
    while (!this.#over) {
      await this.#connection()
      await new Promise((resolve) => setTimeout(resolve, reconnectMs))
    }
  }

  /** Resolves when the connection is lost. Each row waits until the one before is acknowledged. */
  #connection(): Promise<void> {
    const client = spawn('psql', ['-X', '-A', '-t', '-q', '-v', 'ON_ERROR_STOP=1', this.#url], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#client = client
    this.#fresh = 0
    const next = () => {
      this.#sent += 1
      client.stdin.write(`insert into committed values (${this.#sent}) returning n;\n`)
    }
    client.stdin.on('error', () => client.kill('SIGKILL'))
    createInterface({ input: client.stdout }).on('line', (line) => {
      this.#acknowledged.add(Number(line))
      if (this.#fresh === 0) this.#connections += 1
      this.#fresh += 1
      if (!this.#over) next()
    })
    next()
    return new Promise((resolve) => client.once('close', () => resolve()))
  }
}
