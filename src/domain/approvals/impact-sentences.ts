import { counted } from '../../amounts.ts'
import type { Impact } from '../../contract/impact.ts'

const undoSentences: Record<Impact['undo'], string> = {
  'undo-change': 'It can be undone.',
  redeploy: 'The version before can be deployed again.',
  restore: 'Only a backup brings it back.',
  none: 'It cannot be undone.',
}

/** What a write ends, loses, interrupts and costs, in sentences. */
export function impactSentences(impact: Impact): string[] {
  const { containersEnded, downtimeSeconds, zCloudsDelta, peopleNotified, variables } = impact
  const applied = variables.appliedOf.map(({ name }) => name)
  return [
    ...(containersEnded > 0
      ? [`Ends ${counted(containersEnded, 'container')}${impact.serving ? ' that may serve requests' : ''}.`]
      : []),
    ...(downtimeSeconds === 0
      ? []
      : [downtimeSeconds === null ? 'Downtime of unknown length.' : `Down for about ${downtimeSeconds} s.`]),
    ...(impact.dataLost ? ['Stored data is lost that no backup of the last hour holds.'] : []),
    ...(zCloudsDelta === 0
      ? []
      : [`Reserves ${counted(Math.abs(zCloudsDelta), 'zCloud')} ${zCloudsDelta > 0 ? 'more' : 'less'}.`]),
    ...(applied.length > 0 ? [`Puts pending changes in force: ${applied.join(', ')}.`] : []),
    ...(peopleNotified > 0 ? [`Notifies ${counted(peopleNotified, 'person', 'people')}.`] : []),
    undoSentences[impact.undo],
  ]
}
