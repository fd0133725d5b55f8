import { diagnoseAppEnv } from '../../contract/diagnosis.ts'
import { diagnose, isHealthy } from '../../domain/diagnosis/diagnose.ts'
import { handler } from '../core/handler.ts'
import { loadFacts } from './load-facts.ts'

export default handler(diagnoseAppEnv, async (context, _input, target) => {
  const { environment } = target
  const { facts, checked } = await loadFacts(context, target)
  const findings = diagnose(facts)
  return {
    answer: {
      appEnvId: environment.appEnvId,
      healthy: isHealthy(findings),
      servingVersion: facts.serving?.version ?? null,
      findings,
      checked,
      checkedAt: context.now,
    },
  }
})
