import { diagnoseAppEnv, type Finding } from '../src/contract/diagnosis.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: diagnoseAppEnv,
  group: 'deploys',
  title: 'Diagnose environment',
  description:
    'Says why an environment does not work: causes with evidence and the call that fixes each. Call it first.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ appEnvId, healthy, findings, checked }) => {
    const first = findings[0]
    const state = `${appEnvId} is ${healthy ? 'healthy' : 'not healthy'}.`
    if (!first) return `${state} No cause was found in ${checked.join(', ')}.`
    return `${state} ${findings.length === 1 ? 'Cause' : 'First cause'}: ${first.cause} (${first.confidence}).`
  },
  // A log line is text of a tenant, so what quotes one stands in the envelope.
  body: ({ findings, ...answer }, frame) => {
    const ours = { ...answer, findings: findings.map(({ evidence: _evidence, ...finding }) => finding) }
    const quotes = findings.flatMap(evidenceLines)
    return `${JSON.stringify(ours)}${quotes.length === 0 ? '' : `\n${frame('evidence (some of it is output of a tenant program)', quotes)}`}`
  },
})

function evidenceLines({ cause, evidence }: Finding): string[] {
  return evidence.map(({ source, at, text, value }) =>
    [cause, source, at, text, value].filter((part) => part !== undefined && part !== null).join(' '),
  )
}
