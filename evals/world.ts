import { operations } from '../src/contract/index.ts'
import { sampleSource, tgz } from '../testkit/platform/deploy.ts'
import type { Installation } from '../testkit/platform/installation.ts'
import { untilRead } from '../testkit/until.ts'

// biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape it asks for
type Answer = any

const base = 'node:22-alpine'
const words = ['amber', 'birch', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'heron', 'inlet', 'jetty']

// A type, so that it is also `Named` of a task.
type MadeEnvironment = { appId: string; appEnvId: string; envName: string }

/** The account of one trial: seeded and checked by its owner, worked on by an agent that is an admin member of it. */
export class EvalWorld {
  readonly #installation: Installation
  readonly #seed: number
  #made = 0

  private constructor(
    installation: Installation,
    seed: number,
    readonly accountId: string,
    readonly agentToken: string,
    readonly agentUserId: string,
    readonly bystander: { appEnvId: string; revision: number },
  ) {
    this.#installation = installation
    this.#seed = seed
  }

  static async make(installation: Installation, seed: number): Promise<EvalWorld> {
    const rest = restOf(installation, installation.token)
    const { accountId } = await rest('create-account', { name: `Trial ${seed}` })
    const email = `agent-${accountId.slice(4)}@example.com`
    const { token } = await rest('add-member', { accountId, email, name: 'Agent', admin: true })
    const { userId } = await restOf(installation, token)('get-user', {})
    const draft = new EvalWorld(installation, seed, accountId, token, userId, { appEnvId: '', revision: 0 })
    const { appEnvId } = await draft.app('billing', { useImage: true })
    const { revision } = await rest('get-app-env', { appEnvId })
    return new EvalWorld(installation, seed, accountId, token, userId, { appEnvId, revision })
  }

  get mcpUrl(): URL {
    return new URL(this.#installation.ready.mcp)
  }

  /** One call of the REST API as the owner. */
  rest(id: string, input: Record<string, unknown>): Promise<Answer> {
    return restOf(this.#installation, this.#installation.token)(id, input)
  }

  /** The same call as the agent's user, over REST: for changes that the agent made earlier. */
  asAgent(id: string, input: Record<string, unknown>): Promise<Answer> {
    return restOf(this.#installation, this.agentToken)(id, input)
  }

  /** A word that differs between trials, so that no answer can be learned. */
  word(offset = 0): string {
    return words[(this.#seed * 7 + offset * 3 + offset) % words.length]!
  }

  /** An app with the environment `prod`; the prompt names it by `envName`. */
  async app(
    name: string,
    app: Record<string, unknown> = {},
    env: Record<string, unknown> = {},
  ): Promise<MadeEnvironment> {
    const { accountId } = this
    this.#made += 1
    const shape = { accountId, name: `${name} ${this.word()}`, dockerPreset: 'CUSTOM', port: 8080 }
    const { appId } = await this.rest('create-app', {
      ...shape,
      healthCheck: { stabilitySeconds: 0 },
      ...app,
    })
    const place = { accountId, appId, name: 'prod', region: 'local', ...env }
    const { appEnvId } = await this.rest('create-app-env', place)
    const { cliEnvName } = await this.rest('get-app-env', { appEnvId })
    return { appId, appEnvId, envName: cliEnvName }
  }

  async deploy(
    appEnvId: string,
    server?: string,
    files: Record<string, string> = sampleSource(base, server),
  ) {
    const { storageKey, uploadUrl } = await this.rest('request-deploy-storage-key', { appEnvId })
    const answer = await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(files)) })
    if (!answer.ok) throw new Error(`upload: ${await answer.text()}`)
    await this.rest('notify-code-upload', { appEnvId, storageKey })
    await untilRead(
      () => this.rest('get-app-env-status', { appEnvId }),
      ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status),
      `the deployment of ${appEnvId}`,
    )
  }

  /** Output reaches the log a moment after the program wrote it. */
  async untilLogged(appEnvId: string, search: string) {
    const read = () => this.rest('get-logs', { appEnvId, search })
    await untilRead(read, ({ logs }) => logs.length > 0, `"${search}" in the log`)
  }

  async contactPoint(name: string): Promise<string> {
    const config = { url: `https://${this.word()}.example.com/hook` }
    const { contactPoint } = await this.rest('create-contact-point', {
      accountId: this.accountId,
      name,
      type: 'webhook',
      config,
    })
    return contactPoint.contactPointId
  }

  env({ appEnvId }: Readonly<Record<string, string>>): Promise<Answer> {
    return this.rest('get-app-env', { appEnvId })
  }

  /** Changes of the agent that its task does not need, and any change of the environment beside it. */
  async wrongWrites(allowed: readonly string[]): Promise<string[]> {
    const { accountId, agentUserId: principalId } = this
    const { entries } = await this.rest('list-audit', { accountId, principalId, outcome: 'done', limit: 200 })
    const wrong = entries
      .map(({ operation }: Answer) => operation)
      .filter((id: string) => !allowed.includes(id))
    const beside = await this.rest('get-app-env', { appEnvId: this.bystander.appEnvId }).catch(() => null)
    return beside?.revision === this.bystander.revision ? wrong : [...wrong, 'change of another environment']
  }
}

function restOf(installation: Installation, token: string) {
  const client = installation.client(token)
  return async (id: string, input: Record<string, unknown>): Promise<Answer> => {
    const row = operations.find((one) => one.id === id)
    if (!row) throw new Error(`no operation ${id}`)
    return client.call(row, input as never)
  }
}
