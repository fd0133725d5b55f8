import type { OutputOf } from '../../../contract/operation.ts'
import type { getPolicy } from '../../../contract/policy.ts'
import { type Column, Table } from '../../components/Table.tsx'
import { TimeLeft } from '../../components/TimeLeft.tsx'
import { whole } from '../../components/words.ts'
import { meterNames, subjectNames } from '../../words/policy.ts'
import { agentName } from '../activity/entries.ts'

export type BudgetUse = NonNullable<OutputOf<typeof getPolicy>['usage']>[number]

/** How far each agent, token, person or environment used its budgets, as bars. */
export function BudgetBars({ usage }: { usage: readonly BudgetUse[] }) {
  return (
    <Table
      label="List of used budgets"
      columns={columns}
      rows={usage}
      keyOf={({ budgetId, subjectId }) => `${budgetId} ${subjectId}`}
    />
  )
}

const who = ({ name, subjectId, agent }: BudgetUse): string =>
  agent === null ? `${name ?? subjectId}` : `${agentName(agent)} for ${name ?? subjectId}`

const columns: Column<BudgetUse>[] = [
  { title: 'Who', cell: (use) => `${who(use)} (${subjectNames[use.of]})` },
  { title: 'Budget', kind: 'mono', cell: ({ budgetId }) => budgetId },
  {
    title: 'Used',
    cell: (use) => (
      <span className="row">
        <meter
          aria-label={`${use.budgetId} of ${who(use)}`}
          min={0}
          max={Math.max(use.hard, 1)}
          high={use.soft ?? use.hard}
          optimum={0}
          value={use.used}
        />
        {whole(use.used)} of {whole(use.hard)} {meterNames[use.meter]}
      </span>
    ),
  },
  { title: 'Resets in', cell: ({ resetsAt }) => (resetsAt === null ? '' : <TimeLeft at={resetsAt} />) },
]
