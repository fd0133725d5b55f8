import { diagnoseAppEnv } from '../../contract/diagnosis.ts'
import { diagnose, isHealthy } from '../../domain/diagnosis/diagnose.ts'
import { handler } from '../core/handler.ts'
import { loadFacts } from './load-facts.ts'

export default handler(diagnoseAppEnv, async (context, _input, target) => {
  const { environment } = target
  const readFacts = await loadFacts(context, target)
  const checkedAt = context.now
  return {
    answer: { appEnvId: environment.appEnvId, healthy: true, findings: [], checked: [], checkedAt },
    afterRead: async (answer, sources) => {
      const { facts, checked } = await readFacts(sources)
      const findings = diagnose(facts)
      return { ...answer, healthy: isHealthy(findings), findings, checked }
    },
  }
})
