import { counted } from '../src/amounts.ts'
import { whatChanged } from '../src/contract/diagnosis.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

const mostShown = 20

export default defineTool({
  operation: whatChanged,
  group: 'deploys',
  title: 'What changed',
  description:
    'Shows what happened on an environment or is different (new) since a time, such as before errors began: a timeline of deployments, edits and alerts; rank 1 most likely broke a metric.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ changes, broke }) => {
    const when = broke ? ` ${broke.metric} broke at ${broke.at}.` : ' No metric broke.'
    return `${counted(changes.length, 'change')}, newest first.${when}`
  },
  // The question is about the ranked ones.
  shorten: (answer) => {
    const shown = [...answer.changes]
      .sort((a, b) => (a.rank ?? Number.MAX_VALUE) - (b.rank ?? Number.MAX_VALUE))
      .slice(0, mostShown)
    const changes = answer.changes.filter((change) => shown.includes(change))
    return { ...answer, changes, truncated: answer.truncated || changes.length < answer.changes.length }
  },
})
