import { counted } from '../amounts.ts'
import type { Finding, getAccountHealth } from '../contract/diagnosis.ts'
import type { OutputOf } from '../contract/operation.ts'

export const severitySigns: Readonly<Record<Finding['severity'], string>> = {
  critical: '✗',
  warning: '!',
  info: '·',
}

/** Counts, then a line for each of the worst environments. */
export function healthReport(health: OutputOf<typeof getAccountHealth>): string[] {
  const { environments, alerts, regionsAway, worst, healthy } = health
  const { total, running, deploying, stopped, critical, warning } = environments
  const shown = worst.filter(({ severity }) => severity !== 'info').length
  const left = critical + warning - shown
  const silent = alerts.noData + alerts.error
  return [
    `${healthy ? '✓' : '✗'} ${counted(total, 'environment')}: ${running} running, ${deploying} deploying, ${stopped} stopped; ${critical} critical, ${warning} with a warning`,
    `  ${counted(alerts.total, 'alert')}: ${alerts.firing} firing${silent === 0 ? '' : `, ${silent} without data`}`,
    ...regionsAway.map((region) => `✗ The engine of the region ${region} does not answer.`),
    ...worst.map(({ envName, severity, causes, firingAlerts, rejectedVersion }) => {
      const rejected =
        rejectedVersion === undefined ? [] : [`version ${rejectedVersion} failed, an earlier one serves`]
      const firing = firingAlerts === 0 ? [] : [`${counted(firingAlerts, 'alert')} firing`]
      return `${severitySigns[severity]} ${envName}  ${[...causes, ...rejected, ...firing].join(', ')}`
    }),
    ...(left > 0 ? [`  … ${left} more: longshore envs list --no-healthy`] : []),
    ...(worst.length === 0 ? [] : ['longshore why ENVIRONMENT shows the evidence and the fix.']),
  ]
}
