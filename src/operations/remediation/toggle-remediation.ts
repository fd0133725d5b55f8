import { toggleRemediation } from '../../contract/remediations.ts'
import { AppError } from '../../errors.ts'
import { handler, noImpact } from '../core/handler.ts'
import { saveRemediationChange } from './change-remediation.ts'
import { sentenceOf } from './responses.ts'

export default handler(toggleRemediation, async (context, { enabled, mode: given }, target) => {
  const { remediation: before } = target
  const { remediationId, modeBefore } = before
  if (enabled === undefined && given === undefined) {
    throw new AppError('invalid', 'enabled or mode is required', {
      details: 'Send enabled (true or false), or the mode: off, observe, ask or auto.',
    })
  }
  const turnedOn = modeBefore === 'off' ? 'observe' : modeBefore
  const mode = given ?? (enabled ? (before.mode === 'off' ? turnedOn : before.mode) : 'off')
  if (before.mode === mode) {
    const message = `Remediation ${remediationId} is already in mode ${mode}`
    return { answer: { message, enabled: mode !== 'off', mode }, impact: noImpact }
  }
  const kept = mode === 'off' ? { modeBefore: before.mode } : { modeBefore: mode }
  const { remediation, change } = await saveRemediationChange(context, target, before, { mode, ...kept })
  return {
    answer: {
      message: `Remediation ${remediationId} is in mode ${mode}. ${sentenceOf(remediation)}`,
      enabled: mode !== 'off',
      mode,
    },
    change,
    impact: {},
    effects: [sentenceOf(remediation)],
  }
})
