import { isDeepStrictEqual } from 'node:util'
import { listed } from '../../amounts.ts'
import { redeployAppEnv } from '../../contract/deployments.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import type { InputOf, OutputOf } from '../../contract/operation.ts'
import type { Content, Environment, Rollout, Settings } from '../../domain/environments/environment.ts'
import { isLooping } from '../../domain/environments/health.ts'
import { isDeployable } from '../../domain/environments/kept-images.ts'
import { pendingNames } from '../../domain/environments/pending-changes.ts'
import { AppError } from '../../errors.ts'
import {
  findContentByVersion,
  findLastGoodRollout,
  findRollout,
  findRolloutOfContent,
  listContents,
  listPods,
} from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { appliedText, downtimeText, rolloutImpact } from '../environments/container-impact.ts'
import { environmentResponse, settingsInForce } from '../environments/responses.ts'
import {
  heldResponse,
  heldText,
  requireComplete,
  settingsToDeploy,
} from '../environments/settings-to-deploy.ts'
import { beginRollout } from './begin-rollout.ts'
import { branchHead, contentToDeploy, withAppChanges } from './content-to-deploy.ts'
import { changesInForce, restoreSettings } from './restored-settings.ts'

type Input = InputOf<typeof redeployAppEnv>
type Result = Pick<
  OutputOf<typeof redeployAppEnv>,
  'settings' | 'variables' | 'changedSettings' | 'changedSecrets' | 'pending'
>

/** What is deployed, and the rollout whose settings come with it: null for the saved ones. */
interface Chosen {
  content: Content
  ran: Rollout | null
}

export default handler(redeployAppEnv, async (context, input, target) => {
  const draft = draftOf(target.environment)
  const toDeploy = await settingsToDeploy(context, target, draft, input.includeChangesOf)
  const { content, ran } = await choose(context, input, target, draft, toDeploy.settings)
  if (!isDeployable(content)) throw await noLongerKept(context, content)
  const inForce = await settingsInForce(context, target.environment)
  const savedBefore = draft.saved
  const restored = ran && (await restoreSettings(context, target, draft, ran, input.keepSecrets === true))
  if (!restored) requireComplete(target, draft, toDeploy)
  const settings = restored?.settings ?? toDeploy.settings
  const impact = await redeployImpact(context, target, content, settings)
  await beginRollout(context, draft, content, {
    settings,
    activity: 'REDEPLOY',
    details: restored ? 'with the settings it ran with' : 'with the saved settings',
    ...(isDeepStrictEqual(draft.saved, savedBefore) ? {} : { savedBefore }),
  })
  const result: Result = {
    settings: restored ? 'of-version' : 'saved',
    ...changesInForce(context, draft, inForce, settings),
    changedSecrets: restored?.changedSecrets ?? [],
    pending: pendingNames(draft.saved, settings),
  }
  const message = messageOf(target, content, result)
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(
        draft,
        [message, ...(restored ? sentencesOf(result, input, listed) : heldText(toDeploy))].join('. '),
      ),
      contentId: content.contentId,
      version: content.version,
      ...result,
      ...(restored ? {} : heldResponse(toDeploy)),
      servingVersion: draft.status === 'UPDATING' ? draft.currentVersion : null,
    },
    change,
    impact: { ...impact, variables: namedOnce(impact, result) },
    effects: [
      `${message}${restored ? '' : ' with the saved settings'}${downtimeText(impact)}.`,
      ...sentencesOf(result, input, (names) => names.join(', ')).map((sentence) => `${sentence}.`),
      ...appliedText(impact),
      ...(restored ? [] : heldText(toDeploy)),
    ],
    preview: async () => ({ effects: [], facts: { ...result } }),
    wake: [draft.appEnvId],
  }
})

/** Before the first version that served, nothing is rolled back. */
function redeployImpact(
  context: Context,
  target: EnvironmentTarget,
  { version }: Content,
  settings: Settings,
): Promise<ImpactStatement> {
  const isEarlier = version < (target.environment.currentVersion ?? 0)
  return rolloutImpact(context, target, [isEarlier ? 'rollback' : 'deploy'], { settings })
}

/** A variable that changes because its pending change is put in force is named there. */
function namedOnce({ variables }: ImpactStatement, result: Result): ImpactStatement['variables'] {
  const applied = variables?.appliedOf ?? []
  const changed = result.variables.map(({ name }) => name)
  return { appliedOf: applied, changed: changed.filter((name) => !applied.some((one) => one.name === name)) }
}

/**
 * The head of a branch is new code, and before the first good version everything waits for a deployment: both take the
 * saved settings. Everything else has run, and runs again as it did (docs/interface.md#rollbacks).
 */
async function choose(
  context: Context,
  { version, rolloutId, settings }: Input,
  target: EnvironmentTarget,
  draft: Environment,
  saved: Settings,
): Promise<Chosen> {
  const takesSaved = settings === 'saved'
  if (version !== undefined) {
    const content = await findContentByVersion(context.tx, draft.appEnvId, version)
    if (!content) {
      throw new AppError('invalid', `There is no version ${version}`, {
        details: 'get-app-env-history lists the versions of this environment.',
      })
    }
    if (draft.currentRolloutId === null || takesSaved) return { content, ran: null }
    const named = rolloutId === undefined ? null : await findRollout(context.tx, rolloutId)
    if (rolloutId !== undefined && named?.contentId !== content.contentId) {
      throw new AppError('invalid', `rolloutId names no deployment of version ${version}`, {
        details: 'Leave it out for the last deployment of the version.',
      })
    }
    return { content, ran: named ?? (await findRolloutOfContent(context.tx, content)) }
  }
  const head = settings === 'of-version' ? null : await branchHead(context, target, draft, saved)
  if (head) return { content: head, ran: null }
  const good = await lastGood(context, draft)
  const ran = takesSaved ? null : good
  const wanted = ran?.settings ?? saved
  const content = await contentToDeploy(context, target, draft, wanted, good?.rolloutId ?? null)
  if (settings === 'of-version') return { content, ran }
  return { content: await withAppChanges(context, target.app, draft, content, wanted), ran }
}

function messageOf({ environment }: EnvironmentTarget, content: Content, { settings }: Result): string {
  const { version, gitBranch } = content
  if (version === environment.nextVersion)
    return `Building version ${version} ${gitBranch === null ? 'with the changes' : 'from its Git branch'}`
  const with_ = settings === 'of-version' ? ' with the variables and settings it ran with' : ''
  return `Deploying version ${version} again${with_}`
}

/** Every variable and setting that changes, and those that do not although they are saved. */
function sentencesOf(
  { settings, variables, changedSettings, changedSecrets, pending }: Result,
  { keepSecrets }: Input,
  list: (names: readonly string[]) => string,
): string[] {
  const named = (change: string) => variables.filter((one) => one.change === change).map(({ name }) => name)
  const sentence = (names: readonly string[], before: string, after = '') =>
    names.length === 0 ? [] : [`${before} ${list(names)}${after}`]
  const secrets = keepSecrets
    ? sentence(changedSecrets, 'Keeps the present values of the secrets', ', which changed since')
    : sentence(changedSecrets, 'Sets back the secrets', ', which changed since; keepSecrets: true keeps them')
  const isRestored = settings === 'of-version'
  return [
    ...sentence(named('changed'), 'Changes the variables'),
    ...sentence(named('added'), 'Adds the variables'),
    ...sentence(named('removed'), 'Removes the variables'),
    ...sentence(changedSettings, 'Changes the settings'),
    ...secrets,
    ...(isRestored ? sentence(pending, 'Stays pending:', '; settings: saved would put it in force') : []),
  ]
}

/**
 * Null before the first good version; then the newest one is deployed again. A version whose containers keep exiting is
 * skipped, because callers who name no version want to go back to a working one.
 */
async function lastGood(
  { tx, now }: Context,
  { appEnvId, currentRolloutId }: Environment,
): Promise<Rollout | null> {
  const good = await findLastGoodRollout(tx, appEnvId)
  if (!good || good.rolloutId !== currentRolloutId) return good
  const pods = await listPods(tx, appEnvId, podsRead)
  if (!isLooping(pods, good.rolloutId, Date.parse(now))) return good
  return (await findLastGoodRollout(tx, appEnvId, good.contentId)) ?? good
}

const podsRead = 50

/** At most this many versions are named in an error. */
const mostNamed = 20

async function noLongerKept({ tx }: Context, { appEnvId, version }: Content): Promise<AppError> {
  const kept = (await listContents(tx, appEnvId)).filter(isDeployable).map((content) => content.version)
  return new AppError('conflict', `Version ${version} is no longer kept`, {
    details: `Its image was removed because newer versions were deployed since. Kept versions: ${kept.slice(-mostNamed).join(', ')}. To bring it back, deploy its source again.`,
  })
}
