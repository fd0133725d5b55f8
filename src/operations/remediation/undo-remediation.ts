import type { StoredRemediation } from '../../domain/remediation/remediation.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { saveRemediationChange } from './change-remediation.ts'
import { sentenceOf } from './responses.ts'

export const undoRemediation: UndoHandler<StoredRemediation> = {
  fields: [
    'name',
    'trigger',
    'mode',
    'modeBefore',
    'steps',
    'minSamples',
    'holdSeconds',
    'coolDownSeconds',
    'atMost',
    'verify',
    'onFailure',
    'contactPointIds',
  ],
  follows: {
    ...Object.fromEntries(
      ['trigger', 'mode', 'steps', 'verify', 'onFailure', 'atMost', 'minSamples'].map((field) => [
        field,
        ['actsFor'],
      ]),
    ),
  },
  async save(context, { account, membership }, current, draft) {
    const environment = await findEnvironment(context.tx, current)
    const stored = environment && (await findApp(context.tx, environment.appId))
    if (!stored) throw new Error('a remediation without its environment')
    const target = { environment, app: stored.app, account, membership }
    const { remediation, change } = await saveRemediationChange(context, target, current, draft)
    return { change, impact: {}, effect: sentenceOf(remediation) }
  },
}
