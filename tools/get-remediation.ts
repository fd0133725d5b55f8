import { getRemediation } from '../src/contract/remediations.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getRemediation,
  group: 'remediation',
  title: 'Read remediation',
  description:
    'Shows the details of one remediation, an automatic repair (self-healing): trigger, steps, mode, and its last runs.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ remediationId, mode, runs, problem }) =>
    [
      `${remediationId} is in mode ${mode}.`,
      ...(problem === null ? [] : [problem]),
      ...(runs[0] ? [`Its last run, ${runs[0].runId}, is ${runs[0].status}.`] : ['It has not run yet.']),
    ].join(' '),
})
