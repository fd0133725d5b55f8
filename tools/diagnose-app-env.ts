import { diagnoseAppEnv, type Evidence, type Finding, type Fix } from '../src/contract/diagnosis.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { isOurMessage } from '../src/mcp/tools/failure-diagnosis.ts'

export default defineTool({
  operation: diagnoseAppEnv,
  group: 'deploys',
  title: 'Diagnose environment',
  description:
    'Finds why an app is down, slow, crashing or failed: the cause (problem), and the call that fixes it. To troubleshoot, call it first.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ appEnvId, healthy, findings, checked }, { envName = appEnvId }) => {
    const first = findings[0]
    const state = `${envName} is ${healthy ? 'healthy' : 'not healthy'}.`
    if (!first) return `${state} No cause was found in ${checked.join(', ')}.`
    return `${state} ${findings.length === 1 ? 'Cause' : 'First cause'}: ${first.cause} (${first.confidence}).`
  },
  // A log line is text of a tenant, so quotes of it and names taken from it stand in the envelope.
  body: ({ findings, ...answer }, frame) => {
    const ours = { ...answer, findings: findings.map(withoutQuotes) }
    const quotes = findings.flatMap(evidenceLines)
    return `${JSON.stringify(ours)}${quotes.length === 0 ? '' : `\n${frame('evidence (some of it is output of a tenant program)', quotes)}`}`
  },
})

function withoutQuotes({ evidence, fix, ...finding }: Finding) {
  const own = evidence.filter(isOurs)
  const ours = own.length === 0 ? {} : { evidence: own }
  if (fix === null) return { ...finding, ...ours, fix }
  const { set: _set, ...input } = fix.input
  return { ...finding, ...ours, fix: { ...fix, input } }
}

/** The failure of a deployment, where its sentence is the platform's own: `reason: message`. */
function isOurs({ source, text = '' }: Evidence): boolean {
  return source === 'deployment' && isOurMessage({ reason: text.split(': ', 1)[0]!, message: text })
}

function evidenceLines({ cause, evidence, fix }: Finding): string[] {
  const quoted = evidence.filter((one) => !isOurs(one))
  const lines = quoted.map(({ source, at, text, value }) =>
    [cause, source, at, text, value].filter((part) => part !== undefined && part !== null).join(' '),
  )
  return [...lines, ...namesToSet(fix).map((set) => `${cause} fix.input.set ${set}`)]
}

/** Variables that a log line names. */
function namesToSet(fix: Fix | null): string[] {
  return fix?.input.set === undefined ? [] : [JSON.stringify(fix.input.set)]
}
