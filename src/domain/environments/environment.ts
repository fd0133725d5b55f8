import type { Autoscaling, DatabaseSettings } from '../../contract/app-envs.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import type { FunctionConfigInput } from '../../contract/function-config.ts'
import type { HealthCheckInput } from '../../contract/health.ts'
import type { JobConfig } from '../../contract/job-config.ts'
import type { variableTypes } from '../../contract/variables.ts'
import type { AppSettings } from '../apps/app-settings.ts'
import type { DatabaseAccess } from '../databases/credentials.ts'

/** A stored variable: the `value` of a secret is sealed by the secret box (E2). */
export interface StoredVariable {
  _id: string
  name: string
  value: string
  type: (typeof variableTypes)[number]
  isSecret: boolean
  /** A reference: `value` is the value of its source when it was last resolved. */
  from?: VariableReference
}

export interface VariableReference {
  /** The environment that holds the value. */
  appEnvId: string
  /** A database field, or the name of a variable. */
  field: string
}

/** Settings that are first saved as pending changes (3.3). */
export interface Settings {
  zClouds: number
  branch: string
  containers: number
  disk: number
  envVars: StoredVariable[]
  functionConfig: FunctionConfigInput
  jobConfig: JobConfig
  databaseSettings: DatabaseSettings
  /** Settings that differ from the app's own; absent: none. */
  healthCheck?: HealthCheckInput
  /** A persistent volume at `mountPath`; allows one container at most. Regular apps only. */
  useVolume: boolean
  mountPath: string | null
}

/**
 * A move that copies a volume (docs/interface.md#moving-to-another-region). `prepare`: the image is made in the new region
 * while the old one serves. `copy`: no container runs while the volume is copied. `start`: it starts with the copy.
 */
interface VolumeMove {
  step: 'prepare' | 'copy' | 'start'
  backupId?: string
  restoreId?: string
}

export interface Environment {
  appEnvId: string
  appId: string
  accountId: string
  name: string
  slug: string
  cliEnvName: string
  /** For policies, such as `stage=prod`. */
  labels: string[]
  /** Policies may guard it (docs/autonomy.md#policy). */
  protected: boolean
  /** The target region. While `changingRegion`, the serving containers are still in the region of their rollout. */
  region: string
  status: EnvironmentStatus
  /** Set by users; the reconciler brings the environment to this state. */
  desiredState: 'running' | 'stopped'
  /** The last saved settings. */
  saved: Settings
  /** The settings in effect: the snapshot of the last successful apply or deployment. */
  applied: Settings
  autoscaling: Autoscaling
  dockerPresetVersion: string | null
  withPersistence: boolean
  /** Managed databases only: names, sealed passwords and ports. */
  database?: DatabaseAccess
  /** The rollout in progress; null if there is none. */
  wantedRolloutId: string | null
  /** The rollout that serves, or served last. */
  currentRolloutId: string | null
  /** The newest rollout in any state: `currentDeployment` of the status read. */
  latestRolloutId: string | null
  currentVersion: number | null
  nextVersion: number
  changingRegion: boolean
  /** While it moves and serves: the region where it does. */
  servedFrom?: string
  /** While it moves with its volume. */
  volumeMove?: VolumeMove
  /** A region whose copy of the volume is out of date, and has still to be removed. */
  leftVolumeIn?: string
  createdBy: string | null
  createdAt: string
  updatedAt: string
  revision: number
}

/** One deployable version of an environment. Immutable, except for its image, which the build adds and age removes. */
export interface Content {
  contentId: string
  appEnvId: string
  version: number
  type: 'BUILD' | 'IMAGE'
  /** IMAGE: the requested reference. */
  image: string | null
  /** The image that the engine runs, in the last region it was built for; null until built. */
  containerImage: string | null
  /** The image that the engine runs, by region. */
  images: Record<string, string>
  /** Set once the version is too old for a rollback: images by region that its engine has still to remove. */
  removedImages?: Record<string, string>
  /** Jobs: what the image runs without a command of its own, if the engine knows. */
  imageCommand?: { entrypoint: string[]; cmd: string[] }
  uploadId: string | null
  /** The branch, for source from the app's Git host. */
  gitBranch: string | null
  /** The fetched commit for a Git host's source; otherwise the commit given with the upload. */
  gitCommitId: string | null
  /** The app as it was when this version was deployed; absent: as the app was created. */
  app?: AppSettings
  createdBy: string | null
  createdAt: string
}

/**
 * One activation of a content with a snapshot of settings. Every deploy, apply, redeploy, start and restart creates
 * one, so that progress, failure and rollback work the same way for all.
 */
export interface Rollout {
  rolloutId: string
  appEnvId: string
  contentId: string
  /** The region of its containers. */
  region: string
  version: number
  status: 'BUILDING' | 'DEPLOYING' | 'DEPLOYED' | 'FAILED'
  settings: Settings
  /** The saved settings before a rollback restored those of a version; until its verdict. */
  savedBefore?: Settings
  failure: { reason: string; message: string } | null
  /**
   * Set once its containers were ready, until its verdict. `since`: start of the healthy time (null after an exit);
   * `exits`: number of exits.
   */
  stability?: { since: string | null; exits: number }
  /** Its cause, for the history. */
  activity: string
  createdBy: string | null
  createdAt: string
  deployedAt: string | null
}

/** One container that exists or is about to be created; the record stays after the container is gone (F10). */
export interface PodRecord {
  podId: string
  name: string
  appEnvId: string
  rolloutId: string
  contentId: string
  region: string
  /** `run`: should run; `end`: to be drained and removed; `gone`: finished, kept as a record. */
  desiredState: 'run' | 'end' | 'gone'
  /** Databases: 0 accepts writes, the others follow it. Absent counts as 0. */
  ordinal?: number
  status: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  ready: boolean
  restartCount: number
  lastTermination: { exitCode: number; reason: string; finishedAt: string } | null
  /** When its container became ready last. */
  readyAt?: string
  /** When its last containers ended by themselves, oldest first. */
  exits?: string[]
  /** When the first of its exits ended that followed each other within minutes. */
  loopSince?: string
  /** While it starts: the port where it listens, if not on that of the app. */
  listensElsewhere?: { message: string; since: string } | null
  /** Why it takes no requests although it runs. */
  unhealthy?: { reason: string; message: string; since: string } | null
  cpuMillicores: number
  memoryMb: number
  nodeName: string
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
}

/** One zCloud is 0.5 CPU, 512 MB memory and 5 GB disk (docs/interface.md#account-settings). */
export const zCloudSize = { cpuMillicores: 500, memoryMb: 512, diskMb: 5120 } as const
