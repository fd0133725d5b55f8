import https from 'node:https'
import { beforeAll, expect, it } from 'vitest'
import { ensureGateway } from '../../../src/gateway/control/spawn.ts'
import { freePort } from '../../../testkit/free-port.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import {
  afterwards,
  controlPlane,
  functionRoute,
  silent,
  temporaryHome,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayProgram } from '../../../testkit/gateway/program.ts'
import { until, untilRead } from '../../../testkit/until.ts'

let program = ''
beforeAll(async () => {
  const made = await gatewayProgram()
  program = made.program
  return made.remove
})

it('several processes serve their functions on one kept connection with TLS', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `f${index}`)
  const container = await upstream(async (request, response) => {
    let size = 0
    for await (const piece of request) size += piece.length
    const { host, 'x-forwarded-proto': proto, 'x-forwarded-for': client } = request.headers
    response.end(`${host} ${proto} ${client} ${size}`)
  })
  const home = await temporaryHome()
  const [socketPath, tlsPort] = [`${home}/gw.sock`, await freePort()]
  const entry = [process.execPath, program]
  const wanted = {
    entry,
    home,
    socketPath,
    host: '127.0.0.1',
    port: 0,
    clockScale: 1,
    build: 'b1',
    log: silent,
  }
  const { pid } = await ensureGateway({ ...wanted, processes: 3, tlsPort })
  const { link, heard } = controlPlane(socketPath)
  afterwards(() => process.kill(pid, 'SIGKILL'))
  link.setRoutes(
    names.map((name) =>
      functionRoute([container.container(name)], {}, { appEnvId: `env_${name}`, envName: name }),
    ),
  )
  link.setCertificates([makeCertificate('*.fn.localhost')])
  await until(() => heard.desired.length >= names.length, 'every function')
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  afterwards(() => agent.destroy())
  const send = (host: string) =>
    new Promise<string>((resolve, reject) => {
      const target = { port: tlsPort, host: '127.0.0.1', servername: host, method: 'POST', agent }
      const request = https.request({ ...target, headers: { host } }, (response) => {
        let body = ''
        response.on('data', (piece) => {
          body += piece
        })
        response.on('end', () => resolve(body))
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end(Buffer.alloc(300_000, 'x'))
    })
  await untilRead(
    () => send('f0.fn.localhost'),
    () => true,
    'the TLS port',
  )
  for (let turn = 0; turn < 3; turn++) {
    for (const name of names) {
      const host = `${name}.fn.localhost`
      expect(await send(host)).toBe(`${host} https 127.0.0.1 300000`)
    }
  }
})
