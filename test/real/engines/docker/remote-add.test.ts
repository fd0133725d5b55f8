import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuseRemoteAdd } from '../../../../src/engines/dockerfile/remote-add.ts'
import { EngineFailure } from '../../../../src/engines/engine.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture } from '../../../../testkit/engines/docker-fixture.ts'

const inBraces = (name: string) => `$\u007b${name}}`

describe('an ADD that downloads', () => {
  it.each([
    'ADD http://169.254.169.254/latest /x',
    'add https://example.com/a /x',
    'ADD --chown=1:1 --chmod=600 http://127.0.0.1/ /x',
    'ADD a.txt http://127.0.0.1/ b.txt /x',
    'ADD ["http://127.0.0.1/a b", "/x"]',
    'ADD ["a", "http://127.0.0.1/", "/x"]',
    'ADD "http://127.0.0.1/" /x',
    "ADD 'http://127.0.0.1/' /x",
    'ADD ht\\tp://127.0.0.1/ /x',
    'ARG U=http://127.0.0.1/\nADD $U /x',
    `ARG U=http://127.0.0.1/\nADD ${inBraces('U')} /x`,
    'ARG S=tp\nADD ht$S://127.0.0.1/ /x',
    `ARG S\nADD ${inBraces('S:-http')}://127.0.0.1/ /x`,
    'ONBUILD ADD http://127.0.0.1/ /x',
    'ADD \\\n  http://127.0.0.1/ \\\n  /x',
    'ADD \\\n# a comment\n\n  http://127.0.0.1/ /x',
    '  ADD\thttp://127.0.0.1/\t/x',
    'ADD git@example.com:a/b.git /x',
    'ADD ["http://127.0.0.1/", "/x"] and more',
    'ADD -- ["http://127.0.0.1/", "/x"]',
    'ADD --chown="0:0 " ["http://127.0.0.1/", "/x"]',
    'ADD ["\\u0068ttp://127.0.0.1/", "/x"] and more',
    'ARG U\nADD ["$U", "/x"] and more',
    '\u0085ADD http://127.0.0.1/ /x',
    'ADD \u0085http://127.0.0.1/ /x',
  ])('is refused: %j', (line) => {
    expect(() => refuseRemoteAdd(`FROM base\n${line}\nCMD ["x"]\n`)).toThrow(EngineFailure)
  })

  it.each(['', '# syntax=docker/dockerfile:1\n', '# x=\n'])(
    'is refused where lines go on otherwise: %j',
    (first) => {
      const text = `${first}# escape=\`\nFROM base\nADD \`\n  http://127.0.0.1/ /x\n`
      expect(() => refuseRemoteAdd(text)).toThrow(EngineFailure)
    },
  )

  it.each([
    'ADD a.tgz /x',
    'ADD app-$VERSION.tgz /x',
    'ADD ./$NAME /x',
    'ADD ["a b", "/x"]',
    'ADD ["a", "$HOME"]',
    'ADD a[1].txt b["2"] /x',
    'ADD . /x',
    'ADD --chown=1 a /http://x',
    'RUN wget http://example.com/a',
    'RUN echo ADD http://127.0.0.1/ /x',
    'RUN echo \\\n  ADD http://127.0.0.1/ /x',
    '# ADD http://127.0.0.1/ /x',
    'COPY a http://x',
    'LABEL a="ADD http://127.0.0.1/ /x"',
  ])('is not this: %j', (line) => {
    expect(() => refuseRemoteAdd(`FROM base\n${line}\n`)).not.toThrow()
  })
})

const absent = !dockerAvailable

describe.skipIf(absent)('docker: a build and the network of the machine', () => {
  const fixture = new DockerFixture()
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    response.end('secret of the machine')
  })
  let url = ''
  beforeAll(async () => {
    await fixture.open()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    server.close()
    await fixture.close()
  })

  it('an ADD reaches nothing on it', async () => {
    const Dockerfile = `FROM ${fixture.baseImage}\nADD ${url}/own /secret\nRUN cat /secret\n`
    await expect(fixture.build({ Dockerfile })).rejects.toThrow(/would be downloaded by the engine/)
    expect(asked).toEqual([])
  })

  it('an ADD that the base image brings along fails the build, and nothing of it is kept', async () => {
    const base = `${fixture.installationId.toLowerCase()}-trigger:1`
    const context = pack()
    context.entry({ name: 'Dockerfile' }, `FROM ${fixture.baseImage}\nONBUILD ADD ${url}/trigger /secret\n`)
    context.finalize()
    const output = await fixture.docker.buildImage(context as never, { t: base, version: '1' })
    await new Promise((resolve, reject) =>
      fixture.docker.modem.followProgress(output, (error) => (error ? reject(error) : resolve(null))),
    )
    try {
      const Dockerfile = `FROM ${base}\nRUN cat /secret\n`
      await expect(fixture.build({ Dockerfile })).rejects.toThrow(/of the base image would be downloaded/)
      const left = await fixture.docker.listImages({
        filters: { label: [`longshore.installation=${fixture.installationId}`] },
      })
      const names = left.flatMap(({ RepoTags }) => RepoTags ?? [])
      // The two images of the fixture itself.
      expect(names).toHaveLength(2)
    } finally {
      await fixture.docker.getImage(base).remove({ force: true })
    }
  })

  it('a build knows the platform arguments that it declares, and leaves out what the list of its Dockerfile names', async () => {
    const Dockerfile = `ARG BUILDPLATFORM
FROM --platform=$BUILDPLATFORM ${fixture.baseImage}
ARG TARGETARCH
ARG TARGETPLATFORM
COPY . /src
RUN test "$TARGETPLATFORM" = "linux/$TARGETARCH" && test -n "$TARGETARCH" && test ! -e /src/secret.txt && test -e /src/kept.txt
`
    const lists = { 'Dockerfile.dockerignore': 'secret.txt', '.dockerignore': 'kept.txt' }
    await fixture.build({ Dockerfile, ...lists, 'secret.txt': 's', 'kept.txt': 'k' })
  })
})
