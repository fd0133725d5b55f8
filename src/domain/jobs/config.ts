import { isDeepStrictEqual } from 'node:util'
import type { EffectiveJobConfig, JobConfig, JobConfigName } from '../../contract/job-config.ts'
import { ignoresArguments, jobConfigNames } from '../../contract/job-config.ts'
import type { SnapshotLayers } from '../../contract/jobs.ts'
import { AppError } from '../../errors.ts'

/** Platform defaults, used where neither app nor environment has a value (2.5, 8.job-defaults). */
export const platformJobConfig = {
  shell: true,
  timeoutSeconds: 1800,
  ttlSecondsAfterFinished: 21_600,
  backoffLimit: 0,
  allowConcurrentRuns: false,
} as const satisfies JobConfig

type Given = { readonly [Name in JobConfigName]?: JobConfig[Name] }

/**
 * Overrides after a change: given values are set; an empty command, args or workingDir clears the field, as does
 * `clear`.
 */
export function changedJobConfig(saved: JobConfig, given: Given, clear: readonly string[] = []): JobConfig {
  const next: Record<string, unknown> = { ...saved }
  for (const name of jobConfigNames) {
    if (given[name] !== undefined) next[name] = given[name]
  }
  for (const name of clear) delete next[name]
  return withoutEmpty(next as JobConfig)
}

/** Top-level fields override nested ones (2.5); rejects setting and clearing a field in one request. */
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

/** In words for people: runs with such settings succeed but do not have the intended effect. */
export function jobConfigWarnings(app: JobConfig | null, saved: JobConfig): string[] {
  const { command = '', shell } = resolvedJobConfig(app, saved)
  if (!ignoresArguments({ command, args: saved.args, shell })) return []
  return [
    'args have no effect: with shell true they are $1, $2, … of the command, which uses none of these. Set shell to false to pass them to the command.',
  ]
}

/** Maximum number of active runs; null if unlimited (docs/interface.md#job-runs). */
export function mostActiveRuns(config: JobConfig): number | null {
  if (config.maxConcurrency !== undefined) return config.maxConcurrency
  return config.allowConcurrentRuns === true ? null : 1
}

/** Each field with its value and layer, and its value after an apply. */
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

/** The layer of each value in a run's snapshot. `own` are the values of the run itself. */
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
