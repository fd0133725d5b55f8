import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnvStatus,
  group: 'deploys',
  title: 'Environment status',
  description:
    'Tells whether an environment is up, at which version and address, how the newest deployment goes and why it failed.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: (status, { envName }) => {
    const deployment = status.currentDeployment
    const failed =
      deployment?.failure == null
        ? ''
        : ` Deployment of version ${deployment.version} failed: ${deployment.failure.reason}.`
    const under =
      deployment?.status === 'BUILDING' || deployment?.status === 'DEPLOYING'
        ? ` Version ${deployment.version} is ${deployment.status}.`
        : ''
    const version = status.currentVersion === null ? '' : ` at version ${status.currentVersion}`
    return `${envName ?? status.appEnvId} is ${status.status}${version}.${under}${failed}`
  },
})
