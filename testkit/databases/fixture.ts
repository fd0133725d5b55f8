import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { listDatabasePresets } from '../../src/contract/databases.ts'
import type { DatabasePresetName } from '../../src/contract/fields.ts'
import type { Installation } from '../platform/installation.ts'
import { untilRead } from '../until.ts'

const run = promisify(execFile)

/** Whether all of these programs are on this machine. */
export async function present(...programs: string[]): Promise<boolean> {
  const found = await Promise.all(
    programs.map((program) => run(program, ['--version']).then(Boolean, () => false)),
  )
  return found.every(Boolean)
}

/** Databases of one installation, created and used like by their owners. */
export class DatabaseFixture {
  readonly #installation: Installation
  readonly #apps = new Map<string, string>()

  constructor(installation: Installation) {
    this.#installation = installation
  }

  /** Why this machine cannot run the preset; null if it can. */
  async problem(dockerPreset: DatabasePresetName): Promise<string | null> {
    const { presets } = await this.#installation.client().call(listDatabasePresets, {})
    const preset = presets.find((one) => one.dockerPreset === dockerPreset)
    return preset?.available ? null : (preset?.unavailableReason ?? `no ${dockerPreset}`)
  }

  /** Like `make`, but skips the test if this machine cannot run the preset. */
  async makeOrSkip(
    context: TestContext,
    dockerPreset: DatabasePresetName,
    environment: Record<string, unknown> = {},
  ): Promise<string> {
    const problem = await this.problem(dockerPreset)
    if (problem !== null) context.skip(problem)
    return this.make(dockerPreset, environment)
  }

  async make(dockerPreset: DatabasePresetName, environment: Record<string, unknown> = {}): Promise<string> {
    const client = this.#installation.client()
    const { accountId } = this.#installation.ready
    const known = this.#apps.get(dockerPreset)
    const appId =
      known ?? (await client.call(createApp, { name: dockerPreset, accountId, dockerPreset })).appId
    this.#apps.set(dockerPreset, appId)
    const input = { accountId, appId, name: 'data', region: 'local', ...environment }
    const { appEnvId } = await client.call(createAppEnv, input)
    await this.untilRunning(appEnvId)
    return appEnvId
  }

  async untilRunning(appEnvId: string): Promise<void> {
    await untilRead(
      () => this.#installation.client().call(getAppEnvStatus, { appEnvId }),
      ({ status, containers, currentDeployment }) => {
        if (currentDeployment?.failure) throw new Error(JSON.stringify(currentDeployment.failure))
        return status === 'RUNNING' && containers.ready === containers.desired
      },
      'a database that answers',
      120_000,
    )
  }

  /** With the password in it. */
  async url(appEnvId: string, at = 0): Promise<string> {
    const { hosts } = await this.#installation.client().call(getAppEnv, { appEnvId, decrypt: true })
    return hosts[at]?.url ?? ''
  }

  async sql(appEnvId: string, text: string): Promise<string> {
    return await psql(await this.url(appEnvId), text)
  }

  async mysql(appEnvId: string, text: string): Promise<string> {
    return await mysql(await this.url(appEnvId), text)
  }

  async redis(appEnvId: string, ...words: string[]): Promise<string> {
    return await redisCli(await this.url(appEnvId), ...words)
  }
}

export async function mysql(url: string, text: string): Promise<string> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const server = ['--no-defaults', '--protocol=tcp', '-h', hostname, '-P', port, '-u', username]
  const args = [...server, '--default-character-set=utf8mb4', '-N', '-B', '-e', text, pathname.slice(1)]
  return (await run('mariadb', args, { env: { ...process.env, MYSQL_PWD: password } })).stdout.trim()
}

export async function psql(url: string, text: string): Promise<string> {
  // A fast machine commits millions of rows before they are compared.
  const options = { maxBuffer: 512 * 1024 * 1024 }
  return (await run('psql', ['-X', url, '-Atqc', text], options)).stdout.trim()
}

export async function redisCli(url: string, ...words: string[]): Promise<string> {
  return (await run('redis-cli', ['--no-auth-warning', '-u', url, ...words])).stdout.trim()
}

/** Waits until a restarting database answers with the expected value. */
export async function untilReads(read: () => Promise<string>, wanted: string): Promise<void> {
  await untilRead(
    () => read().catch((error: Error) => error.message),
    (answer) => answer === wanted,
    wanted,
    180_000,
  )
}
