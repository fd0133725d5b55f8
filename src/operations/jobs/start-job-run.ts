import { ignoresArguments, type JobConfig } from '../../contract/job-config.ts'
import { startJobRun } from '../../contract/jobs.ts'
import type { InputOf } from '../../contract/operation.ts'
import { jobOnlyViolation } from '../../contract/rules.ts'
import { howToDeploy } from '../../domain/apps/app.ts'
import { commitVariables } from '../../domain/apps/commit-variables.ts'
import type { Content } from '../../domain/environments/environment.ts'
import { newId } from '../../domain/ids.ts'
import {
  mostActiveRuns,
  type ResolvedJobConfig,
  resolvedJobConfig,
  snapshotLayersOf,
  withoutEmpty,
} from '../../domain/jobs/config.ts'
import { type JobRun, jobRunResponse } from '../../domain/jobs/run.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { countActiveJobRuns, insertJobRun, nextJobRunNumber } from '../../store/repositories/job-runs.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'

type Input = InputOf<typeof startJobRun>

/** Takes the settings snapshot: this call's fields override the applied settings, then the app's, then the platform's. */
export default handler(startJobRun, async (context, input, target) => {
  const { environment, app } = target
  rejectViolation(jobOnlyViolation(app, 'runs'))
  const { content, region, commit, imageCommand } = await deployedContent(context, target)
  const config = resolvedJobConfig(app.jobConfig, environment.applied.jobConfig)
  const limit = mostActiveRuns(config)
  const own = ownOf(input)
  const isOfImage = !(own.command ?? config.command) && imageCommand !== undefined
  const snapshot = commandOf(config, isOfImage ? { ...own, ...ofImage(imageCommand, config, own) } : own)
  const layers = snapshotLayersOf(app.jobConfig, environment.applied.jobConfig, own)
  const run = await newRun(context, target, {
    snapshot: { ...content, ...snapshot },
    snapshotFrom: isOfImage ? { ...layers, command: 'image', args: 'image', shell: 'image' } : layers,
    region,
    commit,
    limit,
    ttlSecondsAfterFinished: config.ttlSecondsAfterFinished,
  })
  await checkLimit(context, environment.appEnvId, limit)
  await insertJobRun(context.tx, run)
  return {
    answer: { jobRun: jobRunResponse(run) },
    change: {
      objectType: 'job-run',
      objectId: run.jobRunId,
      accountId: environment.accountId,
      before: null,
      after: jobRunResponse(run),
    },
    impact: { actions: ['run-job'], containersStarted: 1 },
    effects: [`Starts one container of ${environment.cliEnvName} that runs the command to its end.`],
    wake: [environment.appEnvId],
  }
})

async function deployedContent(context: Context, { environment, app }: EnvironmentTarget) {
  if (environment.currentRolloutId !== null && environment.desiredState === 'stopped') {
    throw refusal('The environment is stopped', 'Start it with start-app-env, then start the run.')
  }
  const rollout =
    environment.currentRolloutId === null ? null : await findRollout(context.tx, environment.currentRolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  const image = rollout && content?.images[rollout.region]
  if (!image) {
    throw refusal('Nothing is deployed yet', `${howToDeploy(app)}, and wait until it is DEPLOYED.`)
  }
  const { contentId, imageCommand } = content
  const { region } = rollout
  return { content: { image, contentId }, region, commit: commitVariables(content), imageCommand }
}

/** Settings given with the run; an empty value means "inherit" (docs/interface.md#job-runs). */
function ownOf({ command, args, shell, workingDir, timeoutSeconds, backoffLimit }: Input): JobConfig {
  const given = Object.entries({ command, args, shell, workingDir, timeoutSeconds, backoffLimit })
  return withoutEmpty(Object.fromEntries(given.filter(([, value]) => value !== undefined)) as JobConfig)
}

/** The words of the image itself; arguments take the place of CMD, as in Docker. */
function ofImage(
  { entrypoint, cmd }: NonNullable<Content['imageCommand']>,
  config: ResolvedJobConfig,
  own: JobConfig,
): JobConfig {
  const [command = '', ...args] = [...entrypoint, ...(own.args ?? config.args ?? cmd)]
  return { command, args, shell: false }
}

function commandOf(config: ResolvedJobConfig, own: JobConfig) {
  const merged = { ...config, ...own }
  if (!merged.command) {
    throw refusal(
      'No command to run',
      'Set command with update-job-config (and apply it), or send command with this run.',
    )
  }
  const { command, shell } = merged
  if (ignoresArguments({ command, args: own.args, shell })) {
    throw refusal(
      'args would have no effect',
      'With shell true they are $1, $2, … of the command, which uses none of these. Send shell false to pass them to the command, or a command with "$@".',
    )
  }
  return {
    command,
    args: merged.args ?? [],
    shell,
    workingDir: merged.workingDir ?? null,
    timeoutSeconds: merged.timeoutSeconds,
    backoffLimit: merged.backoffLimit,
  }
}

async function checkLimit({ tx }: Context, appEnvId: string, limit: number | null): Promise<void> {
  if (limit === null) return
  const active = await countActiveJobRuns(tx, appEnvId)
  if (active < limit) return
  throw refusal(
    'Limit of active runs reached',
    `${active} of at most ${limit} ${limit === 1 ? 'run is' : 'runs are'} active. Wait for a run to end or cancel one (list-job-runs), or set maxConcurrency or allowConcurrentRuns with update-job-config.`,
  )
}

async function newRun(
  context: Context,
  { environment }: EnvironmentTarget,
  {
    commit,
    ...given
  }: Pick<JobRun, 'snapshot' | 'snapshotFrom' | 'region' | 'limit' | 'ttlSecondsAfterFinished'> & {
    commit: Record<string, string>
  },
): Promise<JobRun> {
  const { caller, tx, now } = context
  const { appEnvId, accountId, cliEnvName, applied } = environment
  const { envVars, zClouds, useVolume, mountPath } = applied
  return {
    jobRunId: newId('run'),
    appEnvId,
    accountId,
    envName: cliEnvName,
    number: await nextJobRunNumber(tx, appEnvId),
    status: 'PENDING',
    attempt: 0,
    trigger: { userId: userIdOrNull(caller), tokenKind: caller.kind },
    settings: { envVars, zClouds, useVolume, mountPath, commit },
    createdAt: now,
    startedAt: null,
    finishedAt: null,
    exitCode: null,
    reason: null,
    began: null,
    retry: null,
    ...given,
  }
}

function refusal(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}
