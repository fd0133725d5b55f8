import type { Autoscaling, DatabaseSettings } from '../contract/app-envs.ts'
import type { EnvironmentStatus } from '../contract/fields.ts'
import type { FunctionConfigInput } from '../contract/function-config.ts'
import type { JobConfig } from '../contract/job-config.ts'
import type { variableTypes } from '../contract/variables.ts'
import type { DatabaseAccess } from './database-access.ts'

/** A variable as stored: a secret's `value` is sealed by the secret box (E2). */
export interface StoredVariable {
  _id: string
  name: string
  value: string
  type: (typeof variableTypes)[number]
  isSecret: boolean
}

/** The settings that change through pending changes (interface.md 3.3). */
export interface Settings {
  zClouds: number
  branch: string
  containers: number
  disk: number
  envVars: StoredVariable[]
  functionConfig: FunctionConfigInput
  jobConfig: JobConfig
  databaseSettings: DatabaseSettings
  /** A persistent volume at `mountPath`; then one container at most. Regular apps only. */
  useVolume: boolean
  mountPath: string | null
}

export interface Environment {
  appEnvId: string
  appId: string
  accountId: string
  name: string
  slug: string
  cliEnvName: string
  /** Where it is to run. While `changingRegion`, what serves is still in the region of its rollout. */
  region: string
  status: EnvironmentStatus
  /** What its people want; the reconciler makes it true. */
  wish: 'running' | 'stopped'
  /** What was last saved. */
  saved: Settings
  /** What is in force: the snapshot of the last apply or deployment that succeeded. */
  applied: Settings
  autoscaling: Autoscaling
  dockerPresetVersion: string | null
  withPersistence: boolean
  /** Managed databases only: names, sealed passwords and ports. */
  database?: DatabaseAccess
  /** The rollout being worked on; null when nothing is under way. */
  wantedRolloutId: string | null
  /** The rollout that serves, or served last. */
  currentRolloutId: string | null
  /** The newest rollout, whatever became of it: `currentDeployment` of the status read. */
  latestRolloutId: string | null
  currentVersion: number | null
  nextVersion: number
  changingRegion: boolean
  createdBy: string | null
  createdAt: string
  updatedAt: string
  revision: number
}

/** One deployable version of an environment: immutable but for the image that its build yields. */
export interface Content {
  contentId: string
  appEnvId: string
  version: number
  type: 'BUILD' | 'IMAGE'
  /** IMAGE: the reference asked for. */
  image: string | null
  /** What the engine runs; null until built. In the region it was made for last. */
  containerImage: string | null
  /** By region: what its engine runs. */
  images: Record<string, string>
  uploadId: string | null
  /** Set for source that comes from the app's Git host: the branch it was taken from. */
  gitBranch: string | null
  /** For a Git host's source once it was fetched; else what the uploader said. */
  gitCommitId: string | null
  createdBy: string | null
  createdAt: string
}

/**
 * One act of bringing a content into service with a snapshot of settings. Every deploy, apply, redeploy, start
 * and restart makes one, so progress, failure and going back are the same for all.
 */
export interface Rollout {
  rolloutId: string
  appEnvId: string
  contentId: string
  /** Where its containers run. */
  region: string
  version: number
  status: 'BUILDING' | 'DEPLOYING' | 'DEPLOYED' | 'FAILED'
  settings: Settings
  failure: { reason: string; message: string } | null
  /** Why it was made, for the history. */
  activity: string
  createdBy: string | null
  createdAt: string
  deployedAt: string | null
}

/** One container the platform made or is about to make; the record stays when the container is gone (F10). */
export interface PodRecord {
  podId: string
  name: string
  appEnvId: string
  rolloutId: string
  contentId: string
  region: string
  /** `run`: wished for; `end`: to be drained and removed; `gone`: over, kept as a record. */
  wish: 'run' | 'end' | 'gone'
  /** Databases: 0 takes writes, the others follow it. Absent counts as 0. */
  ordinal?: number
  status: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  ready: boolean
  restartCount: number
  lastTermination: { exitCode: number; reason: string; finishedAt: string } | null
  cpuMillicores: number
  memoryMb: number
  nodeName: string
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
}

/** One zCloud is 0.5 CPU, 512 MB memory and 5 GB disk (contract.md 4). */
export const zCloudSize = { cpuMillicores: 500, memoryMb: 512, diskMb: 5120 } as const
