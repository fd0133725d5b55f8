import { testContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: testContactPoint,
  group: 'alerts',
  title: 'Test contact point',
  description:
    'Sends a test message (notification) to a contact point, such as Slack, e-mail or a webhook (admin), and reports whether it works and arrives.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  point: ({ delivered, attempts }) => {
    if (delivered) return 'The test notification arrived.'
    const last = attempts.at(-1)
    return last
      ? `The test notification did not arrive: ${last.reason ?? 'unknown'}.`
      : 'Whether the test notification arrived is not known: the platform was interrupted. Send another one.'
  },
})
