import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture, randomId } from '../../../../testkit/engines/docker-fixture.ts'
import { startRegistry } from '../../../../testkit/engines/docker-registry.ts'
import { until } from '../../../../testkit/engines/suite-installation.ts'

const never = new AbortController().signal
const present = dockerAvailable
const title = present ? 'docker images' : 'docker images (absent: no engine answers on the Docker socket)'

describe.skipIf(!present)(title, () => {
  const fixture = new DockerFixture()
  beforeAll(() => fixture.open())
  afterAll(() => fixture.close())

  it('keeps a secret build variable out of history, layers and settings, and the settings else', async () => {
    const dockerfile = [
      `FROM ${fixture.baseImage}`,
      'ARG TOKEN',
      'WORKDIR /app',
      'ENV COPIED=$TOKEN KEPT="a b$"',
      'RUN echo $TOKEN > token && rm token && echo made > made.txt',
      'EXPOSE 1234',
      'USER node',
      'STOPSIGNAL SIGINT',
      'ENTRYPOINT ["node"]',
      "CMD [\"-e\", \"console.log(process.env.KEPT, process.env.COPIED, require('fs').readFileSync('made.txt', 'utf8').trim())\"]",
    ].join('\n')
    const secret = `hunter-${randomId()}`
    const before = await imageIds()
    const { image, heard } = await fixture.build(
      { Dockerfile: dockerfile },
      { buildArgs: { TOKEN: secret }, secretBuildArgs: [secret] },
    )
    const { Id, Config, RootFS } = await fixture.docker.getImage(image).inspect()
    const history = await fixture.docker.getImage(image).history()
    expect(JSON.stringify([Config, history, heard])).not.toContain(secret)
    expect(RootFS?.Layers?.length).toBeLessThanOrEqual(2)
    expect(Config).toMatchObject({
      User: 'node',
      WorkingDir: '/app',
      ExposedPorts: { '1234/tcp': {} },
      Entrypoint: ['node'],
      Labels: { 'longshore.installation': fixture.installationId },
    })
    expect((Config as { StopSignal?: string }).StopSignal).toBe('SIGINT')
    expect(heard.join('\n')).toContain('ENV COPIED is left out')
    // Nothing that shows it stays on the engine either: the one new image with no name is the flat layer.
    for (const id of (await imageIds()).filter((one) => !before.includes(one))) {
      const history = await fixture.docker
        .getImage(id)
        .history()
        .catch(() => null)
      expect(JSON.stringify(history)).not.toContain(secret)
    }
    const spec = fixture.spec({ image, port: null })
    await fixture.engine.apply(spec)
    const [line] = await until('it spoke', async () => {
      const lines = await fixture.lines(spec.name)
      return lines.length > 0 ? lines : null
    })
    expect(line?.message).toBe('a b$ undefined made')
    await fixture.engine.remove(spec.name)
    await fixture.engine.removeImage(image)
    await expect(fixture.docker.getImage(Id).inspect()).rejects.toMatchObject({ statusCode: 404 })
  })

  it('leaves no unnamed image behind, whether builds succeed or fail, and forgets all of an environment', async () => {
    const appEnvId = `env_${randomId()}`
    const marker = randomId()
    const from = `FROM ${fixture.baseImage}`
    const twoStages = `${from} AS one\nRUN echo ${marker} > /one\n${from}\nCOPY --from=one /one /two\nCMD ["node"]\n`
    await fixture.build({ Dockerfile: twoStages }, { appEnvId })
    await fixture.build({ Dockerfile: `${twoStages}RUN echo again\n` }, { appEnvId })
    await expect(
      fixture.build({ Dockerfile: `${from}\nRUN echo ${marker}\nRUN exit 3\n` }, { appEnvId }),
    ).rejects.toMatchObject({
      reason: 'build step',
    })
    expect(await unnamedMadeWith(marker)).toEqual([])
    await fixture.engine.purge(appEnvId)
    const named = (await fixture.docker.listImages()).flatMap((one) => one.RepoTags ?? [])
    expect(named.filter((name) => name.includes(appEnvId))).toEqual([])
    // Only its own: other test files build and start containers on the same Docker daemon meanwhile.
    const filters = { ancestor: [fixture.baseImage] }
    const containers = await fixture.docker.listContainers({ all: true, filters })
    expect(containers.filter(({ Command }) => Command.includes(marker))).toEqual([])
  })

  it('fails with image pull if the image in FROM does not exist', async () => {
    await expect(fixture.build({ Dockerfile: 'FROM 127.0.0.1:1/nobody/nothing:1\n' })).rejects.toMatchObject({
      reason: 'image pull',
      message: expect.stringContaining('127.0.0.1:1/nobody/nothing:1'),
    })
  })

  it('pulls nothing that is here, and refuses the image of another environment and a bare id', async () => {
    await fixture.engine.pull(fixture.baseImage, () => {}, never)
    const { Id } = await fixture.docker.getImage(fixture.server).inspect()
    for (const reference of [fixture.server, Id.replace('sha256:', '').slice(0, 12)]) {
      await expect(fixture.engine.pull(reference, () => {}, never)).rejects.toMatchObject({
        reason: 'image pull',
      })
    }
  })

  it('never removes an image it did not build', async () => {
    await fixture.engine.removeImage(fixture.baseImage)
    expect(await fixture.docker.listImages({ filters: { reference: [fixture.baseImage] } })).toHaveLength(1)
  })

  it.skipIf(!existsSync('/usr/bin/docker-registry'))(
    'pulls from a registry with progress (skipped where no docker-registry is installed)',
    async () => {
      const registry = await startRegistry()
      try {
        const [repo, tag] = [`${registry.address}/team/app`, '1.0']
        const reference = `${repo}:${tag}`
        const { image } = await fixture.build({ Dockerfile: 'FROM scratch\nCOPY . /\n', marker: randomId() })
        await fixture.docker.getImage(image).tag({ repo, tag })
        await finished(await fixture.docker.getImage(reference).push({ authconfig: {} } as object))
        await fixture.docker.getImage(reference).remove()
        await fixture.docker.getImage(image).remove()
        const heard: string[] = []
        await expect(
          fixture.engine.pull(`${registry.address}/team/app:2.0`, () => {}, never),
        ).rejects.toMatchObject({
          reason: 'image pull',
          message: expect.stringContaining('2.0'),
        })
        await fixture.engine.pull(reference, (line) => heard.push(line.message), never)
        expect(heard.join('\n')).toContain('Pull complete')
        // Its labels came along; a name in a registry is for all nevertheless.
        await fixture.engine.pull(reference, () => {}, never)
        await fixture.docker.getImage(reference).remove()
      } finally {
        await registry.stop()
      }
    },
  )

  async function imageIds(): Promise<string[]> {
    return (await fixture.docker.listImages({ all: true })).map((image) => image.Id)
  }

  /** Other builds may go on on the same engine; only images whose history shows `marker` count. */
  async function unnamedMadeWith(marker: string): Promise<string[]> {
    const found: string[] = []
    for (const { Id } of await fixture.docker.listImages({ filters: { dangling: ['true'] } })) {
      const history = await fixture.docker
        .getImage(Id)
        .history()
        .catch(() => null)
      if (JSON.stringify(history).includes(marker)) found.push(Id)
    }
    return found
  }

  function finished(progress: NodeJS.ReadableStream): Promise<unknown> {
    return new Promise((resolve, reject) => {
      fixture.docker.modem.followProgress(progress, (error, output) =>
        error ? reject(error) : resolve(output),
      )
    })
  }
})
