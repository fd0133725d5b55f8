import { diagnoseAppEnv } from '../../contract/diagnosis.ts'
import { diagnose, isHealthy } from '../../domain/diagnosis/diagnose.ts'
import { handler } from '../core/handler.ts'
import { loadFacts } from './load-facts.ts'

export default handler(diagnoseAppEnv, async (context, _input, target) => {
  const { environment } = target
  const readFacts = await loadFacts(context, target)
  const { appEnvId } = environment
  const none = { healthy: true, servingVersion: null, findings: [], checked: [] }
  return {
    answer: { appEnvId, ...none, checkedAt: context.now },
    afterRead: async (_answer, after) => {
      const { facts, checked } = await readFacts(after)
      const findings = diagnose(facts)
      return {
        appEnvId,
        healthy: isHealthy(findings),
        servingVersion: facts.serving?.version ?? null,
        findings,
        checked,
        checkedAt: context.now,
      }
    },
  }
})
