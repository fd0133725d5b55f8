/** What tools belong together, so that a person can offer some of them only (`--tools`). */
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
