import { requestDeployStorageKey } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: requestDeployStorageKey,
  group: 'deploys',
  title: 'Request upload address',
  description:
    'Gets an upload link for local source code, without Git: PUT the .tgz to uploadUrl, then notify-code-upload.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  referredInputs: { fileExtension: '' },
  checks: [environmentAccessible],
  point: () => 'PUT the archive once to uploadUrl, then call notify-code-upload with storageKey.',
})
