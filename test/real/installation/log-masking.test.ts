import { afterAll, beforeAll, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
beforeAll(() => installation.start())
afterAll(() => installation.dispose())

const secret = 'pa ss/wörd-7f3a91'
const mask = '***SECRET***'

/** Answers each request by printing its variable in many ways; one of them in two writes. */
const talkative = `
const { KEY } = process.env
require('http').createServer((request, response) => {
  const round = request.url.slice(1)
  console.log(round, 'plain', KEY)
  console.log(round, 'json', JSON.stringify({ KEY }))
  console.log(round, 'url', encodeURIComponent(KEY))
  console.log(round, 'base64', Buffer.from('user:' + KEY).toString('base64'))
  console.log(round, 'long', 'z'.repeat(8192 - 40) + KEY + KEY)
  process.stderr.write(round + ' split ' + KEY.slice(0, 5))
  setTimeout(() => { process.stderr.write(KEY.slice(5) + '\\n'); console.log(round, 'end'); response.end('ok') }, 50)
}).listen(process.env.PORT)
`

it('E2 masks secret variables in the logs of builds and containers, also after a restart of the platform', async () => {
  const client = installation.client()
  const { appEnvId, host } = await makeFunction(installation, 'talkative', { minScale: 1 })
  await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'KEY', value: secret }] })
  const source = sampleSource('node:20-alpine', talkative)
  const step = 'ARG KEY\nRUN echo "built with $KEY" && printf %s "$KEY" | base64\n'
  source.Dockerfile = source.Dockerfile!.replace('CMD', `${step}CMD`)
  await deploy(installation, appEnvId, source)
  expect((await untilDeployed(installation, appEnvId)).currentDeployment).toMatchObject({
    status: 'DEPLOYED',
  })
  const messages = async (type: 'BUILD' | 'RUNTIME') =>
    (await client.call(getLogs, { appEnvId, type, size: 1000 })).logs.map(({ message }) => message)
  const said = async (round: string) => {
    expect((await installation.request(host, `/${round}`)).body).toBe('ok')
    return untilRead(
      () => messages('RUNTIME'),
      (lines) => lines.includes(`${round} end`) && lines.some((line) => line.startsWith(`${round} split`)),
      'the lines of the request',
    )
  }
  const check = (lines: string[], round: string) => {
    expect(lines).toEqual(
      expect.arrayContaining([
        `${round} plain ${mask}`,
        `${round} json {"KEY":"${mask}"}`,
        `${round} url ${mask}`,
        `${round} split ${mask}`,
      ]),
    )
    const base64 = lines.find((line) => line.startsWith(`${round} base64`))
    expect(base64).toMatch(/^\w+ base64 [A-Za-z0-9+/]{0,8}\*\*\*SECRET\*\*\*$/)
    const long = lines.find((line) => line.startsWith(`${round} long`))
    expect(long).toContain('[line cut at 8 KiB]')
    expect(long).not.toContain('pa ')
  }
  check(await said('one'), 'one')
  const build = (await messages('BUILD')).join('\n')
  expect(build).toContain('built with ***')
  expect(build).not.toContain(Buffer.from(secret).toString('base64').slice(4, -4))
  expect(build).not.toContain(secret)
  await installation.end('SIGKILL')
  await installation.start()
  check(await said('two'), 'two')
})
