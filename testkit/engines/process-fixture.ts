import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { Engine, EngineContainer } from '../../src/engines/engine.ts'
import { engineFiles } from '../../src/engines/process/engine-files.ts'
import {
  processesWithHome,
  processIdentity,
  processIds,
  readProcesses,
  readText,
  treeOf,
} from '../../src/engines/process/supervisor/proc-tree.ts'
import type { SourceFiles } from '../builds/sample-sources.ts'
import { messagesOf, ProcessInstallation } from './process-installation.ts'
import { until } from './suite-installation.ts'

/** A process engine for each test, or one for all tests of a file. */
export class ProcessFixture {
  installation!: ProcessInstallation
  engine!: Engine

  /** `noRoot`: as on a machine that offers no private root. */
  constructor(lasts: 'test' | 'file', { noRoot = false } = {}) {
    const [before, after] = lasts === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll]
    before(async () => {
      this.installation = await ProcessInstallation.create()
      this.engine = await this.installation.open(noRoot ? { probe: async () => 'a test' } : {})
    })
    after(() => this.installation.destroy())
  }

  build(dockerfile: string, files: SourceFiles = {}, options = {}) {
    return this.installation.build(this.engine, { Dockerfile: dockerfile, ...files }, options)
  }

  refused(dockerfile: string, files: SourceFiles = {}) {
    return expect(this.build(dockerfile, files)).rejects
  }

  /** An image that runs this shell text. */
  shell(...text: string[]) {
    const dockerfile = 'FROM alpine\nWORKDIR /app\nCOPY main.sh .\nCMD ["sh", "main.sh"]\n'
    return this.build(dockerfile, { 'main.sh': text.join('\n') })
  }

  /** Runs the image until it ends and returns its output. */
  async run(image: string, env: Record<string, string> = {}): Promise<string[]> {
    const spec = this.installation.spec(image, { env, port: null })
    await this.engine.apply(spec)
    await this.exited(spec.name)
    return await messagesOf(this.engine, spec.name)
  }

  async find(name: string): Promise<EngineContainer | null> {
    return (await this.engine.list()).find((container) => container.name === name) ?? null
  }

  /** The machine's numbers of the processes of build steps. */
  stepPids(): number[] {
    const { images } = engineFiles(this.installation.home)
    return processesWithHome(processIds(), (home) => home.startsWith(images))
  }

  exited(name: string): Promise<EngineContainer> {
    return until(`${name} ended`, async () => {
      const found = await this.find(name)
      return found?.state === 'exited' ? found : null
    })
  }

  /** The number a container printed, once it did. */
  printedNumber(name: string, label: string): Promise<number> {
    return until(`${name} prints ${label}`, async () => {
      const line = (await messagesOf(this.engine, name)).find((message) => message.startsWith(label))
      return line ? Number(line.slice(label.length)) : null
    })
  }

  /** The machine's number of the process whose own number a container printed. */
  async printedPid(name: string, label: string): Promise<number> {
    const inner = await this.printedNumber(name, label)
    const { containers } = engineFiles(this.installation.home)
    const { pid } = JSON.parse(readFileSync(path.join(containers, name, 'record.json'), 'utf8'))
    const rows = treeOf(pid, readProcesses())
    return rows.find((row) => innerPid(row.pid) === inner)!.pid
  }
}

/** The number of a process in its own namespace. */
function innerPid(pid: number): number {
  return Number(/^NSpid:.*?(\d+)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1])
}

export const gone = (pid: number) =>
  until(`process ${pid} is gone`, () => processIdentity(pid) === null || null)
export const lines = (...text: string[]) => `${text.join('\n')}\n`
