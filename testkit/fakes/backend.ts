import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Deployment } from '../../src/contract/app-env-reads.ts'
import type { AppEnv } from '../../src/contract/app-envs.ts'
import type { Health } from '../../src/contract/health.ts'
import { operations } from '../../src/contract/index.ts'
import type { JobRunResponse } from '../../src/contract/jobs.ts'
import { apiPrefix, type Operation } from '../../src/contract/operation.ts'
import { AppError, httpStatusOf } from '../../src/errors.ts'
import type { Account } from '../../src/mcp/tools/read-cache.ts'
import { fakeOperations } from './operations.ts'

export interface SeenCall {
  id: string
  input: Record<string, unknown>
  token: string
  surface: string | undefined
  idempotencyKey: string | undefined
  dryRun: boolean
}

/** The next deployment: its number of status reads, and its outcome. */
export interface Plan {
  reads: number
  failure?: { reason: string; message: string }
}

export interface FakeEnv extends AppEnv {
  deployment: (Deployment & { readsLeft: number; planned: Plan }) | null
  currentContentId: string | null
  health?: Health
}

/** The state of a small platform, which the real one keeps in its store. */
export class FakeState {
  readonly envs = new Map<string, FakeEnv>()
  account: Account = fakeAccount()
  plans: Plan[] = []
  /** The effects of every dry run. */
  effects: string[] = ['Stops and removes 2 container(s).']
  logs: { stream: 'stdout' | 'stderr'; message: string }[] = []
  nextId = 1
  /** Job runs, and how the next ones end. */
  readonly runs = { byId: new Map<string, JobRunResponse>(), ends: 'SUCCEEDED' as JobRunResponse['status'] }
  readonly calls: SeenCall[] = []
  /** Thrown by the operation of this id, until it is taken away. */
  readonly failing = new Map<string, AppError>()
  /** An operation of this id waits for the promise before it answers. */
  readonly held = new Map<string, Promise<void>>()

  /** Environment of an input, or the platform's refusal. */
  env(input: Record<string, unknown>): FakeEnv {
    for (const env of this.envs.values()) {
      if (env.appEnvId === input.appEnvId) return env
      if (input.appEnvId === undefined && env.cliEnvName === input.envName) return env
    }
    throw new AppError('not-found', 'App environment not found', {
      details: 'Check the id with list-app-envs.',
    })
  }

  add(partial: Partial<FakeEnv> & { name: string }): FakeEnv {
    const env = { ...fakeEnv(`env_${this.nextId++}`), cliEnvName: `shop-${partial.name}`, ...partial }
    this.envs.set(env.appEnvId, env)
    return env
  }

  countOf(id: string): number {
    return this.calls.filter((call) => call.id === id && !call.dryRun).length
  }
}

export interface FakeBackend {
  url: string
  state: FakeState
  close(): Promise<void>
}

export const fakeToken = 'lsu_fake'

/** An HTTP server made from the contract rows over a small state: the platform as the client sees it. */
export async function startFakeBackend(port = 0): Promise<FakeBackend> {
  const state = new FakeState()
  const server = createServer((req, res) => void answer(state, req, res))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(state: FakeState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const row = rowOf(req)
    const token = req.headers.authorization
    if (token === undefined || !/^lsu_[\w-]+$/.test(token)) {
      throw new AppError('unauthenticated', 'User not authenticated', { details: 'Send a token.' })
    }
    const input = await inputOf(row, req)
    state.calls.push({
      id: row.id,
      input,
      token,
      surface: req.headers['longshore-surface'] as string | undefined,
      idempotencyKey: req.headers['idempotency-key'] as string | undefined,
      dryRun: req.headers['dry-run'] === 'true',
    })
    await state.held.get(row.id)
    const failure = state.failing.get(row.id)
    if (failure !== undefined) throw failure
    if (req.headers['dry-run'] === 'true') {
      send(res, 200, { dryRun: true, changes: [], effects: state.effects })
      return
    }
    const body = await fakeOperations[row.id]!(state, input, token)
    // Responses of the fake must match the row, or tests prove nothing.
    send(res, 200, row.output.parse(body))
  } catch (error) {
    sendError(res, error)
  }
}

function rowOf(req: IncomingMessage): Operation {
  const { pathname } = new URL(req.url ?? '/', 'http://fake')
  const row = operations.find((one) => one.method === req.method && apiPrefix + one.path === pathname)
  if (row === undefined) throw new AppError('not-found', 'Not found')
  return row
}

async function inputOf(row: Operation, req: IncomingMessage): Promise<Record<string, unknown>> {
  const inQuery = row.method === 'GET' || row.method === 'DELETE'
  const raw = inQuery ? queryOf(row, req) : JSON.parse(await textOf(req))
  const parsed = row.input.safeParse(raw)
  if (parsed.success) return parsed.data
  const details = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  throw new AppError('invalid', 'Invalid request', { details })
}

function queryOf(row: Operation, req: IncomingMessage): Record<string, unknown> {
  const { searchParams } = new URL(req.url ?? '/', 'http://fake')
  const values = Object.fromEntries<unknown>(searchParams)
  for (const [name, value] of Object.entries(values)) {
    const asJson = value === 'true' || value === 'false' || /^-?\d+$/.test(String(value))
    const parsed = asJson ? JSON.parse(String(value)) : value
    if (row.input.safeParse({ ...values, [name]: parsed }).success) values[name] = parsed
    else if (asJson && name !== 'envName') values[name] = parsed
  }
  return values
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += chunk
  return text
}

function send(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function sendError(res: ServerResponse, error: unknown): void {
  if (!(error instanceof AppError)) {
    send(res, 500, { error: 'Something went wrong on our side', details: String(error) })
    return
  }
  send(
    res,
    httpStatusOf[error.kind],
    { error: error.message, details: error.details },
    {
      ...(error.rule === undefined ? {} : { 'longshore-rule': error.rule }),
      ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
    },
  )
}

function fakeAccount(): Account {
  return {
    accountId: 'acc_1',
    name: 'Shop',
    slug: 'shop',
    permissions: { admin: true, manageMembers: true },
    settings: {
      memberEnvAccessEnabled: false,
      allowAutoScaling: true,
      functionScaleToZero: true,
      functionMinIdleTimeoutSeconds: 600,
      functionDefaultIdleTimeoutSeconds: 900,
      functionMaxScale: 10,
      functionMaxMinScale: 3,
      functionDefaultMaxScale: 3,
      zCloudLimit: 64,
    },
    revision: 1,
  }
}

function fakeEnv(appEnvId: string): FakeEnv {
  return {
    appEnvId,
    appId: 'app_1',
    accountId: 'acc_1',
    name: 'prod',
    slug: 'prod',
    region: 'local',
    status: 'RUNNING',
    currentVersion: 3,
    gitBranch: 'cli',
    cliEnvName: 'shop-prod',
    allowUserCliToken: true,
    dockerPreset: 'CUSTOM',
    isFunction: false,
    isDatabase: false,
    isJob: false,
    zClouds: 1,
    containers: 2,
    disk: 5120,
    withPersistence: false,
    useVolume: false,
    envVars: [],
    autoscaling: null,
    hosts: [{ host: 'shop-prod.app.localhost', url: 'http://shop-prod.app.localhost:4480', kind: 'http' }],
    pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
    changingRegion: false,
    createdAt: '2026-11-01T00:00:00.000Z',
    updatedAt: '2026-11-01T00:00:00.000Z',
    revision: 1,
    deployment: null,
    currentContentId: null,
  }
}
