import { groupOfTool } from './group-of-tool.ts'

/** Groups of tools that a person can select with `--tools` or on the consent page, each with words for people. */
export const toolGroupWords = {
  apps: 'Apps, environments and variables',
  functions: 'Functions',
  deploys: 'Deployments',
  logs: 'Logs',
  metrics: 'Metrics',
  jobs: 'Jobs',
  databases: 'Databases and backups',
  alerts: 'Alerts and contact points',
  access: 'Members, access and the audit log',
  autonomy: 'Policy and claims',
  domains: 'Domains and certificates',
  remediation: 'Remediations',
} as const

export type ToolGroup = keyof typeof toolGroupWords

export const toolGroups = Object.keys(toolGroupWords) as readonly ToolGroup[]

/** Whether a group has the tool of an operation; an operation without a tool is in none. */
export function isInGroup(operationId: string, group: ToolGroup): boolean {
  return groupOfTool[operationId] === group
}
