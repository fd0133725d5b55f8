import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../longshore.js', import.meta.url))
// The same for both sides: some variables, such as NODE_EXTRA_CA_CERTS, cost a start 100 ms.
export const bareEnv = { PATH: process.env.PATH }

/** The least a client can be, so that only the server is measured. */
export class StdioSession {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, () => void>()
  #nextId = 1

  constructor(backendUrl: string) {
    this.#child = spawn(process.execPath, [command, 'mcp'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...bareEnv, LONGSHORE_URL: backendUrl, LONGSHORE_TOKEN: 'lsu_bench' },
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const { id, error } = JSON.parse(line)
      if (error !== undefined) throw new Error(`the server answered ${JSON.stringify(error)}`)
      this.#waiting.get(id)?.()
      this.#waiting.delete(id)
    })
  }

  ask(method: string, params: unknown): Promise<void> {
    const id = this.#nextId++
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }

  residentMb(): number {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(text)![1]) / 1024
  }

  end(): void {
    this.#child.stdin!.end()
  }
}
