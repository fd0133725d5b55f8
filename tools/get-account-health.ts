import { counted } from '../src/amounts.ts'
import { getAccountHealth } from '../src/contract/diagnosis.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAccountHealth,
  group: 'apps',
  title: 'Account health',
  description:
    'Overview: is everything right? What is wrong or broken, which environments have problems, and causes.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ healthy, environments, alerts, worst }) => {
    const { total, critical, warning } = environments
    if (healthy) return `${counted(total, 'environment')}, nothing wrong; no alert fires.`
    const next = worst.length === 0 ? '' : ' diagnose-app-env says why.'
    return `${critical} of ${counted(total, 'environment')} critical, ${warning} with a warning; ${counted(alerts.firing, 'alert')} firing.${next}`
  },
})
