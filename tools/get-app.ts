import { getApp } from '../src/contract/apps.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getApp,
  group: 'apps',
  title: 'Read app',
  description:
    'Shows the details of one app (project): preset, port it listens on, Git repository, source and image.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: (app) => `${app.appId} is an app with preset ${app.dockerPreset}.`,
})
