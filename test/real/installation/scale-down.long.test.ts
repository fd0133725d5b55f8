import http from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Answers when the body is over: a request lasts as long as its client wants. */
const server = `
require('http').createServer((request, response) => {
  request.resume().on('end', () => response.end('done'))
}).listen(process.env.PORT)
`

/** A request that is under way until `end` is called. */
function heldRequest(gateway: string, host: string) {
  const { hostname, port } = new URL(gateway)
  const headers = { host, 'transfer-encoding': 'chunked' }
  const request = http.request({ hostname, port, method: 'POST', headers })
  request.write('begun')
  const answer = new Promise<string>((resolve) => {
    request.once('error', (error) => resolve(error.message))
    request.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      response.once('end', () => resolve(`${response.statusCode} ${body}`))
    })
  })
  return { answer, end: () => request.end() }
}

for (const { engine, base } of await availableEngines()) {
  describe(`scale-down on the ${engine} engine`, () => {
    // The idle period is 0.3 s, the stable window 60 ms: both are over while one request lasts.
    const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: '1000' })
    beforeAll(() => installation.start())
    afterAll(() => installation.dispose())

    it('F1 never stops a container with a request in flight, while other containers stop', async () => {
      const settings = { containerConcurrency: 1, maxScale: 3 }
      const { appEnvId, host } = await makeFunction(installation, `down ${engine}`, settings)
      await deploy(installation, appEnvId, sampleSource(base, server))
      await untilDeployed(installation, appEnvId)
      const client = installation.client()
      const status = () => client.call(getAppEnvStatus, { appEnvId })
      const held = [1, 2, 3].map(() => heldRequest(installation.ready.gateway, host))
      await untilRead(status, ({ containers }) => containers.ready === 3, 'three containers')
      // One that waited for its container has it by now.
      const [long, ...short] = held
      for (const { end } of short) end()
      expect(await Promise.all(short.map(({ answer }) => answer))).toEqual(['200 done', '200 done'])
      await untilRead(status, ({ containers }) => containers.running === 1, 'one container')
      long!.end()
      expect(await long!.answer).toBe('200 done')
      await untilRead(status, ({ containers }) => containers.running === 0, 'zero containers')
      const { pods } = await client.call(getAppEnvPods, { appEnvId })
      expect(pods.filter((pod) => pod.status === 'Failed')).toEqual([])
    })
  })
}
