import type { Deployment } from '../../src/contract/app-env-reads.ts'
import type { AppEnv } from '../../src/contract/app-envs.ts'
import type { RestoreResponse } from '../../src/contract/backups.ts'
import type { Health } from '../../src/contract/health.ts'
import type { JobRunResponse } from '../../src/contract/jobs.ts'
import { AppError } from '../../src/errors.ts'
import type { Account } from '../../src/mcp/tools/read-cache.ts'

interface SeenCall {
  id: string
  input: Record<string, unknown>
  token: string
  surface: string | undefined
  idempotencyKey: string | undefined
  dryRun: boolean
}

/** The next deployment: its number of status reads, and its outcome. */
interface Plan {
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
  effects: string[] = ['Stops and removes 2 containers.']
  logs: { stream: 'stdout' | 'stderr'; message: string }[] = []
  nextId = 1
  restore: Pick<RestoreResponse, 'status' | 'finishedAt' | 'failure'> = {
    status: 'RUNNING',
    finishedAt: null,
    failure: null,
  }
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
      agentsPaused: false,
      reauthenticateSeconds: 0,
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
    labels: [],
    protected: false,
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
    claim: null,
    changingRegion: false,
    createdAt: '2026-11-01T00:00:00.000Z',
    updatedAt: '2026-11-01T00:00:00.000Z',
    revision: 1,
    deployment: null,
    currentContentId: null,
  }
}

/** Counts a change of the environment. */
export function change(env: FakeEnv): FakeEnv {
  env.revision += 1
  return env
}
