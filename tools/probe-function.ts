import { probeFunction } from '../src/contract/function-probe.ts'
import { isAFunction } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: probeFunction,
  group: 'functions',
  title: 'Probe function',
  description:
    'Sends a bounded load (real requests, at most 20 s) to a function: cold start, containers added, refusals, latency; proposes containerConcurrency and minScale.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['idempotencyKey'],
  checks: [isAFunction],
  point: ({ coldStartSeconds, levels, mostContainers, proposal }) => {
    const last = levels.at(-1)
    const cold = coldStartSeconds === null ? '' : `Cold start ${coldStartSeconds} s. `
    const load = last
      ? `At ${last.concurrency} at a time: ${last.requestsPerSecond} requests/s, p95 ${last.p95Seconds} s, ${last.refused} refused, ${last.failed + last.answered5xx} failed, ${mostContainers} containers. `
      : ''
    return `${cold}${load}Proposed: ${proposal.because.join(' ')}`
  },
})
