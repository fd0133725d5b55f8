import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import path from 'node:path'
import { sharedWords } from '../private-root/program.ts'
import type { StartRequest } from './protocol.ts'

/** The next one begins when the start that took the last one no longer needs the processor. */
const pauseMs = 300

/**
 * One private root that has begun and waits for its container: starting its program and its namespaces takes half of the
 * time of a start.
 */
export class PrewarmedRoot {
  readonly #dir: string
  #words: string[] = []
  #child: ChildProcess | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(containersDir: string) {
    // Its processes are found by this HOME, as those of containers are.
    this.#dir = path.join(containersDir, 'prewarmed')
  }

  /** Starts the process of a container, in the root that is ready if there is one. */
  spawn({ argv, cwd, isRooted }: StartRequest, env: Record<string, string>): ChildProcess {
    const ready = isRooted ? this.#take(argv, env) : null
    const options: SpawnOptions = { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }
    return ready ?? spawn(argv[0]!, argv.slice(1), options)
  }

  #take(argv: readonly string[], env: Readonly<Record<string, string>>): ChildProcess | null {
    const child = this.#child
    const isFit = argv.slice(0, sharedWords).every((word, index) => word === this.#words[index])
    this.#words = argv.slice(0, sharedWords)
    this.#child = null
    this.#timer ??= setTimeout(() => this.#begin(), pauseMs).unref()
    if (!child?.stdin || child.exitCode !== null || child.signalCode !== null) return null
    const words = argv.slice(sharedWords)
    child.stdin.end(isFit ? [words.length, ...words, ...Object.entries(env).flat()].join('\0') : '')
    return isFit ? child : null
  }

  #begin(): void {
    this.#timer = null
    if (this.#child) return
    const [program, ...words] = [...this.#words, 'later']
    const env = { HOME: this.#dir, PATH: process.env.PATH }
    const child = spawn(program!, words, { cwd: '/', env, detached: true, stdio: 'pipe' })
    child.on('error', () => {})
    child.stdin?.on('error', () => {})
    this.#child = child
  }
}
