import type { EngineLogLine } from '../../engines/engine.ts'
import type { ClusterClient } from './client.ts'
import { containerName } from './manifests/workload.ts'

/** The output of a pod's container. The cluster does not keep the streams apart. */
export async function* podLines(
  client: ClusterClient,
  pod: { namespace: string; name: string; container?: string },
  options: { since: string | null; follow: boolean; signal: AbortSignal },
): AsyncIterable<EngineLogLine> {
  for await (const line of client.podLog({ container: containerName, ...pod }, options)) {
    const [, time = '', message = ''] = /^(\S+) ?(.*)$/s.exec(line) ?? []
    // The cluster's `since` has whole seconds.
    if (options.since !== null && time <= options.since) continue
    yield { timestamp: time, stream: 'stdout', message }
  }
}
