import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { healthSentence } from '../src/contract/health.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvStatus,
  group: 'deploys',
  title: 'Environment status',
  description:
    'Reads whether an environment is up and healthy, its version, addresses and newest deployment with any failure.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: (status) => {
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
    const health = status.health ? ` ${status.health.verdict}: ${healthSentence(status.health)}` : ''
    return `${status.cliEnvName} is ${status.status}${version}.${health}${under}${failed}`
  },
  body: ({ health, ...status }, frame) => {
    if (!health || health.logTail.length === 0) return null
    const { logTail, ...ours } = health
    const facts = JSON.stringify({ ...status, health: ours })
    return `${facts}\n${frame('end of the log of a tenant program', logTail)}`
  },
})
