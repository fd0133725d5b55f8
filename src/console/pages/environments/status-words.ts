import type { getAppEnvStatus } from '../../../contract/app-env-reads.ts'
import { failureWords } from '../../../contract/failure-words.ts'
import { healthSentence, isIll, requestSentence, servesUnproven } from '../../../contract/health-words.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import type { Tone } from '../../components/Badge.tsx'
import { counted } from '../../components/words.ts'
import { inWords, sentenceCase } from '../../words/text.ts'

type Status = OutputOf<typeof getAppEnvStatus>

export const statusTones: Record<Status['status'], Tone> = {
  RUNNING: 'ok',
  UPDATING: 'busy',
  PENDING: 'busy',
  STOPPED: 'idle',
}

export const statusNames: Record<Status['status'], string> = {
  RUNNING: 'Running',
  UPDATING: 'Updating',
  PENDING: 'Starting',
  STOPPED: 'Stopped',
}

interface StatusWords {
  tone: Tone
  sentence: string
  /** The platform's message about a failed deployment; it may contain tenants' text. */
  cause: string | null
}

/** The state of an environment and its cause in one sentence. */
export function statusWords(read: Status, kind: { isFunction: boolean; isJob: boolean }): StatusWords {
  const failure = read.currentDeployment?.failure ?? null
  const cause = failure ? causeOf(failure) : null
  const attempted = read.currentDeployment?.version
  if (failure) {
    const serving =
      read.status === 'RUNNING' && read.currentVersion !== null && read.currentVersion !== attempted
    return {
      tone: 'bad',
      sentence: serving
        ? `The deployment of version ${attempted} failed. Version ${read.currentVersion} keeps serving.`
        : `The deployment of version ${attempted} failed, and no version is serving.`,
      cause,
    }
  }
  if (read.health && isIll(read.health)) {
    const { verdict } = read.health
    return {
      tone: 'bad',
      sentence: `${sentenceCase(verdict)}: ${inWords(healthSentence(read.health))}`,
      cause,
    }
  }
  const requests = read.health && requestSentence(read.health)
  if (requests) return { tone: 'bad', sentence: requests, cause }
  return { tone: statusTones[read.status], sentence: sentenceOf(read, kind), cause }
}

/** The failure of a deployment, in words of the console. */
export function causeOf(failure: NonNullable<NonNullable<Status['currentDeployment']>['failure']>): string {
  const { reason, message } = failureWords(failure)
  return `${sentenceCase(reason)}: ${inWords(message)}`
}

function sentenceOf(read: Status, { isFunction, isJob }: { isFunction: boolean; isJob: boolean }): string {
  const { containers, currentVersion, currentDeployment } = read
  switch (read.status) {
    case 'STOPPED':
      return currentVersion === null && currentDeployment === null
        ? 'Nothing is deployed yet.'
        : 'Stopped. It answers nothing until it is started.'
    case 'PENDING':
      if (servesUnproven(read))
        return `Version ${currentDeployment?.version ?? 1} serves, and is in its stability window.`
      return `${doing(currentDeployment?.status)} version ${currentDeployment?.version ?? 1}, the first one.`
    case 'UPDATING':
      return `${doing(currentDeployment?.status)} version ${currentDeployment?.version ?? ''}; the version before keeps serving.`
    case 'RUNNING':
      if (isJob) return `Version ${currentVersion} is ready for runs.`
      if (isFunction && containers.running === 0)
        return `Version ${currentVersion} is scaled to zero. The next request starts a container.`
      return `Version ${currentVersion} is serving: ${containers.ready} of ${counted(containers.desired, 'container')} ready.`
  }
}

function doing(status: string | undefined): string {
  return status === 'BUILDING' ? 'Building' : 'Deploying'
}
