import { requestSecret } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: requestSecret,
  group: 'apps',
  title: 'Request secret',
  description:
    'Makes a one-time link on which a person types in (enters) a secret variable safely, such as a password or API key, so that the chat never shows it.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  checks: [environmentAccessible],
  point: ({ url }, { variable }) =>
    `Give the person this link; on it they enter ${variable}, which you never see: ${url} It works once, for 15 minutes. Then call apply-app-env-changes.`,
})
