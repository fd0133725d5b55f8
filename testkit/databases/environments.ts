import { afterAll, beforeAll } from 'vitest'
import { type DatabasePresetRead, listDatabasePresets } from '../../src/contract/databases.ts'
import { until } from '../engines/suite-installation.ts'
import { FakeEngine } from '../fakes/engine.ts'
import { TestPlatform } from '../platform/test-platform.ts'

/** Database environments on a platform whose engine runs every preset but ClickHouse. */
export class DatabaseEnvironments {
  readonly engine = new FakeEngine()
  platform!: TestPlatform
  presets: readonly DatabasePresetRead[] = []
  readonly #apps = new Map<string, string>()

  constructor() {
    this.engine.faults.missingDatabases = ['CLICKHOUSE']
    beforeAll(async () => {
      this.platform = await TestPlatform.start({ engine: this.engine })
      this.presets = (await this.platform.admin.client.call(listDatabasePresets, {})).presets
    })
    afterAll(() => this.platform.close())
  }

  async request(method: string, path: string, input: Record<string, unknown> = {}) {
    return await this.platform.request(method, path, { token: this.platform.admin.token, input })
  }

  createApp(dockerPreset: string) {
    const { accountId } = this.platform
    return this.request('POST', '/app', { name: dockerPreset, accountId, dockerPreset })
  }

  /** The app of a preset; created once. */
  async appOf(dockerPreset: string): Promise<string> {
    const known = this.#apps.get(dockerPreset)
    if (known !== undefined) return known
    const { appId } = (await this.createApp(dockerPreset)).json
    this.#apps.set(dockerPreset, appId)
    return appId
  }

  /** A request to create an environment of a preset. */
  async create(dockerPreset: string, environment: Record<string, unknown> = {}) {
    const { accountId, region } = this.platform
    const appId = await this.appOf(dockerPreset)
    return await this.request('POST', '/app-env', { accountId, appId, name: 'data', region, ...environment })
  }

  async running(dockerPreset: string, environment: Record<string, unknown> = {}): Promise<string> {
    const { appEnvId } = (await this.create(dockerPreset, environment)).json
    await this.serves(appEnvId)
    return appEnvId
  }

  serves(appEnvId: string) {
    return until(`${appEnvId} runs`, async () => {
      const { json } = await this.request('GET', '/app-env/status', { appEnvId })
      return json.status === 'RUNNING' && json.currentDeployment.status === 'DEPLOYED' ? json : null
    })
  }

  async read(appEnvId: string, decrypt = false) {
    return (await this.request('GET', '/app-env', { appEnvId, ...(decrypt ? { decrypt } : {}) })).json
  }

  preset(name: string): DatabasePresetRead {
    return this.presets.find((one) => one.dockerPreset === name) as DatabasePresetRead
  }
}

export function settings(parameters: Record<string, unknown>) {
  return { databaseSettings: { postgresql: { parameters } } }
}
