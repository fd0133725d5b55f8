import type { Receiver } from '../alerting/receiver.ts'
import type { Answer } from '../api/scenario-call.ts'
import { untilRead } from '../until.ts'
import type { Send } from './surfaces.ts'
import { ofId, type SecretSweep } from './sweep.ts'

export interface ScenarioFixture {
  sweep: SecretSweep
  receiver: Receiver
  /** Calls of the operator. */
  send: Send
  /** Reads whose answers are only searched. */
  look: Send
  surface: string
}

/** A variable whose value is a canary. */
export function secretVariable({ sweep, surface }: ScenarioFixture, name: string) {
  // Characters that a JSON string, an address and a shell write differently, and that all three take.
  const value = sweep.secrets.plant(`variable ${name}, ${surface}`, (core) => `"${core}\\ é/+&=%$(x)`)
  return { name, value, isSecret: true }
}

/** An environment of an image, not deployed yet. */
export async function made({ sweep }: ScenarioFixture): Promise<string> {
  return (await sweep.platform.makeEnvironment({ app: { useImage: true } })).appEnvId
}

/** Deploys and waits until it serves. */
export async function served({ send, sweep }: ScenarioFixture, appEnvId: string): Promise<void> {
  await send('deploy-app-env-image', { appEnvId, image: 'registry.example.com/app:1' })
  await running(sweep, appEnvId)
}

async function running(sweep: SecretSweep, appEnvId: string): Promise<void> {
  await untilRead(
    async () => (await ask(sweep, 'get-app-env-status', { appEnvId })).json,
    ({ status, currentDeployment }) => status === 'RUNNING' && currentDeployment.status === 'DEPLOYED',
    `${appEnvId} serves`,
  )
}

function ask(sweep: SecretSweep, id: string, input: Record<string, unknown>) {
  return sweep.rest(ofId(id), input, sweep.platform.admin.token)
}

/** With its secrets, as an admin who requests them reads it. */
export async function decrypted({ sweep }: ScenarioFixture, appEnvId: string): Promise<Answer> {
  return (await ask(sweep, 'get-app-env', { appEnvId, decrypt: true })).json
}

export async function nameOf({ sweep }: ScenarioFixture, appEnvId: string): Promise<string> {
  return (await ask(sweep, 'get-app-env', { appEnvId })).json.cliEnvName
}

export async function passwordOf(fixture: ScenarioFixture, databaseId: string): Promise<string> {
  const { hosts } = await decrypted(fixture, databaseId)
  return hosts.length === 0 ? '' : decodeURIComponent(new URL(hosts[0].url).password)
}

/** Variables that the containers of an environment got. */
export function given({ sweep }: ScenarioFixture, appEnvId: string): Record<string, string> {
  const running = sweep.platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
  return Object.assign({}, ...running.map(({ spec }) => spec.env))
}

/** A database, and an app whose variables DB_URL, DB_PASSWORD and so on take those fields of it. */
export async function withDatabase(fixture: ScenarioFixture, fields: readonly string[]) {
  const { sweep, send, surface } = fixture
  const database = await sweep.platform.makeEnvironment({ app: { dockerPreset: 'POSTGRESQL' } })
  const { appEnvId: databaseId } = database
  await running(sweep, databaseId)
  const password = await passwordOf(fixture, databaseId)
  sweep.secrets.know(`password of ${databaseId}, ${surface}`, password)
  const databaseName = await nameOf(fixture, databaseId)
  const appEnvId = await made(fixture)
  const set = fields.map((field) => ({
    name: `DB_${field.toUpperCase()}`,
    from: { envName: databaseName, field },
  }))
  await send('update-app-env-variables', { appEnvId, set })
  await served(fixture, appEnvId)
  return { appEnvId, databaseId, databaseName, password }
}

/** Tools whose effects cannot be undone take the name again. */
export function confirmed({ surface }: ScenarioFixture, name: string): { confirm?: string } {
  return surface === 'MCP' ? { confirm: name } : {}
}

/** All reads of an operator who looks for the problem of an environment. */
export async function reads({ look, sweep }: ScenarioFixture, appEnvId: string): Promise<void> {
  const about = [
    'get-app-env',
    'get-app-env-status',
    'get-app-env-pods',
    'get-app-env-history',
    'get-logs',
    'diagnose-app-env',
    'what-changed',
    'get-incident',
    'explain-access',
  ]
  for (const id of about) await look(id, { appEnvId })
  await look('list-audit', { accountId: sweep.platform.accountId, objectId: appEnvId })
}
