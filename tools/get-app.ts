import { getApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getApp,
  group: 'apps',
  title: 'Read app',
  description: 'Reads one app: preset, port, source and image settings.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: (app) => `${app.appId} is an app with preset ${app.dockerPreset}.`,
})
