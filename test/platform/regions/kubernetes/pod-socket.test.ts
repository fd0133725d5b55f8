import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { ClusterClient } from '../../../../src/regions/kubernetes/client.ts'
import { runInPod } from '../../../../src/regions/kubernetes/pod-exec.ts'
import { removeFolder } from '../../../../testkit/remove-folder.ts'

function kubeconfig(user: object, server: string): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-kubeconfig-'))
  onTestFinished(() => removeFolder(dir))
  const file = path.join(dir, 'config')
  const config = {
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  // JSON is YAML too.
  writeFileSync(file, JSON.stringify(config))
  return file
}

it('a stop ends the opening of a connection to a pod whose node does not answer', async () => {
  const stop = new AbortController()
  const server = http.createServer()
  // Accepted, and never answered.
  server.on('upgrade', (_request, socket) => {
    onTestFinished(() => void socket.destroy())
    stop.abort(new Error('stopped'))
  })
  onTestFinished(() => void server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = new ClusterClient({ kubeconfig: kubeconfig({ token: 't' }, `http://127.0.0.1:${port}`) })
  const pod = { namespace: 'n', name: 'p', container: 'c' }
  const streams = { output: new PassThrough(), signal: stop.signal }
  await expect(runInPod(client, pod, { script: 'true', env: {} }, streams)).rejects.toMatchObject({
    kind: 'unavailable',
  })
})

it('a stop ends a watch whose credentials come from a program that does not end', async () => {
  const stop = new AbortController()
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    // Until its input ends, which is with the process of this test.
    command: 'cat',
    interactiveMode: 'Never',
  }
  const { config } = new ClusterClient({ kubeconfig: kubeconfig({ exec }, 'http://127.0.0.1:1') })
  const lines = config.lines('api/v1/pods', {}, stop.signal)[Symbol.asyncIterator]()
  const reading = lines.next()
  stop.abort(new Error('stopped'))
  await expect(reading).rejects.toThrow('stopped')
})
