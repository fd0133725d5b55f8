import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { CommandIo } from '../../src/cli/command-io.ts'
import { runCli } from '../../src/server/commands/run-cli.ts'
import { removeFolder } from '../remove-folder.ts'
import { type Script, type ScriptedPlatform, startScriptedPlatform } from './scripted-platform.ts'

interface Outcome {
  code: number
  out: string
  err: string
}

/** `longshore deploy` in a folder with a Dockerfile, against a scripted platform. */
export class DeployFixture {
  dir = ''
  app = ''
  platform: ScriptedPlatform | null = null

  constructor() {
    beforeEach(async () => {
      this.dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-deploy-test-'))
      this.app = path.join(this.dir, 'app')
      await mkdir(this.app)
      await writeFile(path.join(this.app, 'Dockerfile'), 'FROM node:20-alpine\n')
      await writeFile(path.join(this.app, 'server.js'), 'hello')
    })
    afterEach(async () => {
      await this.platform?.close()
      this.platform = null
      removeFolder(this.dir)
    })
  }

  async run(argv: string[], script: Script = {}, env: Record<string, string> = {}): Promise<Outcome> {
    this.platform ??= await startScriptedPlatform(script)
    return this.runAgainst(argv, { LONGSHORE_URL: this.platform.url, LONGSHORE_TOKEN: 'lsu_env', ...env })
  }

  async runAgainst(
    argv: string[],
    env: Record<string, string>,
    interrupt?: (stop: () => void) => void,
  ): Promise<Outcome> {
    const said = { out: '', err: '' }
    const io: CommandIo = {
      stdout: { write: (text) => void Object.assign(said, { out: said.out + text }) },
      stderr: { write: (text) => void Object.assign(said, { err: said.err + text }) },
      onInterrupt(callback) {
        interrupt?.(callback)
        return () => {}
      },
    }
    const home = path.join(this.dir, 'home')
    return { code: await runCli(['deploy', ...argv], { LONGSHORE_HOME: home, ...env }, io), ...said }
  }

  calls(): string[] {
    return this.platform!.heard.map((heard) => heard.call)
  }

  last(call: string) {
    return this.platform!.heard.filter((heard) => heard.call === call).at(-1)
  }
}
