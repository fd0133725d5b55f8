import { probeFunction } from '../src/contract/function-probe.ts'
import { isAFunction } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: probeFunction,
  group: 'functions',
  title: 'Probe function',
  description:
    'Tries out (tests) whether and how a function answers: sends real GET requests for at most 20 s. Measures cold start, scaling, refusals and latency; proposes containerConcurrency and minScale.',
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: false },
  task: 'call',
  checks: [isAFunction],
  point: ({ coldStartSeconds, levels, mostContainers, proposal }) => {
    const last = levels.at(-1)
    const cold = coldStartSeconds === null ? '' : `Cold start ${coldStartSeconds} s. `
    const load = last
      ? `With ${last.concurrency} concurrent requests: ${last.requestsPerSecond} requests/s, p95 ${last.p95Seconds} s, ${last.refused} refused, ${last.failed + last.answered5xx} failed, ${mostContainers} containers. `
      : ''
    return `${cold}${load}Proposed: ${proposal.because.join(' ')}`
  },
})
