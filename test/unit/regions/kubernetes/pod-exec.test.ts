import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import type { ClusterClient, PodSocket } from '../../../../src/regions/kubernetes/client.ts'
import { runInPod } from '../../../../src/regions/kubernetes/pod-exec.ts'

/** A connection to a container whose program never ends. */
class SilentSocket extends EventTarget {
  protocol = 'v5.channel.k8s.io'
  send(_data: Buffer, sent: () => void) {
    sent()
  }
  resume() {}
  terminate() {
    queueMicrotask(() => this.dispatchEvent(new Event('close')))
  }
}

it('a stop that comes while the connection opens ends a program that would not end', async () => {
  const stop = new AbortController()
  const client = {
    podSocket: async () => {
      stop.abort(new Error('stopped'))
      return new SilentSocket() as unknown as PodSocket
    },
  } as unknown as ClusterClient
  const pod = { namespace: 'n', name: 'p', container: 'c' }
  const run = runInPod(
    client,
    pod,
    { script: 'sleep 1d', env: {} },
    { output: new PassThrough(), signal: stop.signal },
  )
  await expect(run).rejects.toThrow('stopped')
})
