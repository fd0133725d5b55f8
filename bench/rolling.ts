/**
 * Requests lost over 20 deployments and 10 rolling restarts in a row under load, on every engine that is here
 * (goal: 0; at least 2,000 requests).
 *
 * Run: npm run build && npm run bench -- rolling [deployments, default 20] [restarts, default 10]
 */
import { availableEngines } from '../testkit/engines/available-engines.ts'
import { rollUnderLoad } from '../testkit/gateway/rolling-load.ts'
import { Installation } from '../testkit/platform/installation.ts'

const deploys = Number(process.argv[2] ?? 20)
const restarts = Number(process.argv[3] ?? 10)
for (const { engine, base } of await availableEngines()) {
  const installation = new Installation({ LONGSHORE_ENGINE: engine })
  await installation.start()
  try {
    const plan = { deploys, restarts, connections: 8, atLeast: 2_000 }
    const { requests, lost } = await rollUnderLoad(installation, base, plan)
    const done = `${deploys} deployments, ${restarts} restarts`
    process.stdout.write(`${engine}: ${done}, ${requests} requests, ${lost.length} lost\n`)
    for (const why of new Set(lost)) process.stdout.write(`  ${why}\n`)
    if (lost.length > 0) process.exitCode = 1
  } finally {
    await installation.dispose()
  }
}
