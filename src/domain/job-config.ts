import { isDeepStrictEqual } from 'node:util'
import type { EffectiveJobConfig, JobConfig, JobConfigName } from '../contract/job-config.ts'
import { jobConfigNames } from '../contract/job-config.ts'
import type { SnapshotLayers } from '../contract/jobs.ts'
import { AppError } from '../errors.ts'

/** What holds where neither app nor environment says anything (interface.md 2.5, section 8). */
export const platformJobConfig = {
  shell: true,
  timeoutSeconds: 1800,
  ttlSecondsAfterFinished: 21_600,
  backoffLimit: 0,
  allowConcurrentRuns: false,
} as const satisfies JobConfig

type Given = { readonly [Name in JobConfigName]?: JobConfig[Name] }

/** Overrides after a change: what is given is set, an empty command, args or workingDir clears, as does `clear`. */
export function changedJobConfig(saved: JobConfig, given: Given, clear: readonly string[] = []): JobConfig {
  const next: Record<string, unknown> = { ...saved }
  for (const name of jobConfigNames) {
    if (given[name] !== undefined) next[name] = given[name]
  }
  for (const name of clear) delete next[name]
  return withoutEmpty(next as JobConfig)
}

/** Top-level fields override matching nested ones (interface.md 4.1); a field set and cleared at once is refused. */
export function givenJobConfig(nested: JobConfig | undefined, top: Given, clear: readonly string[]): Given {
  const given: Record<string, unknown> = { ...nested }
  for (const name of jobConfigNames) {
    if (top[name] !== undefined) given[name] = top[name]
  }
  const both = clear.filter((name) => given[name] !== undefined)
  if (both.length > 0) {
    throw new AppError('invalid', `${both.join(', ')} cannot be set and cleared at once`, {
      details: 'Name a field either with its new value or in clear.',
    })
  }
  return given
}

/** Without the fields whose empty value means "inherit". */
export function withoutEmpty(config: JobConfig): JobConfig {
  const { command, args, workingDir, ...rest } = config
  return {
    ...(command ? { command } : {}),
    ...(args && args.length > 0 ? { args } : {}),
    ...(workingDir ? { workingDir } : {}),
    ...rest,
  }
}

/** Job settings with every default filled in. */
export type ResolvedJobConfig = JobConfig &
  Required<Pick<JobConfig, 'shell' | 'timeoutSeconds' | 'ttlSecondsAfterFinished' | 'backoffLimit'>>

/** The settings of a run: the environment's over the app's over the platform's. */
export function resolvedJobConfig(app: JobConfig | null, environment: JobConfig): ResolvedJobConfig {
  return { ...platformJobConfig, ...withoutEmpty(app ?? {}), ...withoutEmpty(environment) }
}

/** Most active runs; null when there is no limit (contract.md 7). */
export function mostActiveRuns(config: JobConfig): number | null {
  if (config.maxConcurrency !== undefined) return config.maxConcurrency
  return config.allowConcurrentRuns === true ? null : 1
}

/** Each field with its value and layer, and what an apply would make of it. */
export function effectiveJobConfigOf(
  app: JobConfig | null,
  applied: JobConfig,
  saved: JobConfig,
): EffectiveJobConfig {
  const fields = jobConfigNames.map((name) => {
    const now = layerOf(name, app, applied)
    const next = layerOf(name, app, saved)
    return [name, isDeepStrictEqual(now, next) ? now : { ...now, pending: next }]
  })
  return Object.fromEntries(fields) as EffectiveJobConfig
}

/** Which layer each value of a run's snapshot comes from. `own` is what the run itself says. */
export function snapshotLayersOf(app: JobConfig | null, applied: JobConfig, own: JobConfig): SnapshotLayers {
  const from = (name: keyof SnapshotLayers) =>
    own[name] === undefined ? layerOf(name, app, applied).from : ('run' as const)
  return {
    command: from('command'),
    args: from('args'),
    shell: from('shell'),
    workingDir: from('workingDir'),
    timeoutSeconds: from('timeoutSeconds'),
    backoffLimit: from('backoffLimit'),
  }
}

function layerOf(name: JobConfigName, app: JobConfig | null, environment: JobConfig) {
  const own = withoutEmpty(environment)[name]
  if (own !== undefined) return { value: own, from: 'environment' as const }
  const inherited = withoutEmpty(app ?? {})[name]
  if (inherited !== undefined) return { value: inherited, from: 'app' as const }
  return { value: (platformJobConfig as JobConfig)[name] ?? null, from: 'platform' as const }
}
