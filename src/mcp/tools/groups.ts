/** Groups of tools that a person can select with `--tools`. */
export const toolGroups = [
  'apps',
  'functions',
  'deploys',
  'logs',
  'metrics',
  'jobs',
  'databases',
  'alerts',
  'access',
] as const

export type ToolGroup = (typeof toolGroups)[number]
