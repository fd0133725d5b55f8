import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { VolumeSpec } from '../../../../src/engines/volume-copies.ts'
import { checkedTar, eachEntry } from '../../../../src/engines/volume-tar.ts'
import { dockerAvailable } from '../../../../testkit/engines/docker-available.ts'
import { DockerFixture, randomId } from '../../../../testkit/engines/docker-fixture.ts'

const title = dockerAvailable
  ? 'volumes of Docker'
  : 'volumes of Docker (absent: no engine answers on the Docker socket)'
const never = new AbortController().signal

describe.skipIf(!dockerAvailable)(title, () => {
  const fixture = new DockerFixture()
  beforeAll(() => fixture.open())
  afterAll(() => fixture.close())

  const mount = { volume: 'data', path: '/app/data' }
  const volume = (image: string): VolumeSpec => {
    const appEnvId = `env_${randomId()}`
    return { appEnvId, accountId: 'acc_1', envName: 'shop-prod', image, mount }
  }
  const dump = (spec: VolumeSpec) => buffer(checkedTar(fixture.engine.volumes!.dump(spec, never)))
  const load = (spec: VolumeSpec, tar: Buffer) =>
    fixture.engine.volumes!.load(spec, Readable.from([tar]), never)

  const withUser = async (user: string) => {
    const lines = [
      `FROM ${fixture.baseImage}`,
      'RUN mkdir -p /app/data && chmod 777 /app/data && mkdir -p /etc',
      "RUN echo 'app:x:1234:1235::/:/bin/sh' >> /etc/passwd && echo 'team:x:1235:' >> /etc/group",
      `USER ${user}`,
      'CMD ["sh", "-c", "exec node -e \\"$CODE\\""]',
    ]
    return (await fixture.build({ Dockerfile: `${lines.join('\n')}\n` })).image
  }

  it.each([
    ['a number', '1234'],
    ['numbers that the image does not know', '4321:4322'],
    ['names', 'app:team'],
  ])('restored, belong to the user of the image, who goes on writing: %s', async (_, user) => {
    const image = await withUser(user)
    const [from, into] = [volume(image), volume(image)]
    const append = (text: string) => `
      const fs = require('fs')
      fs.appendFileSync('/app/data/notes', '${text} ')
      fs.writeFileSync('/app/data/new-${text}', '')
      console.log(fs.readFileSync('/app/data/notes', 'utf8'))`
    const ids = user === '4321:4322' ? '4321 4322' : '1234 1235'
    const owner = "const { uid, gid } = require('fs').statSync('/app/data/notes'); console.log(uid, gid)"
    const on = ({ appEnvId }: VolumeSpec) => ({ image, appEnvId, mounts: [mount] })
    expect(await fixture.run(append('one'), on(from))).toEqual(['one '])
    await load(into, await dump(from))
    expect(await fixture.run(owner, on(into))).toEqual([ids])
    expect(await fixture.run(append('two'), on(into))).toEqual(['one two '])
    await load(from, await dump(into))
    expect(await fixture.run(append('three'), on(from))).toEqual(['one two three '])
    for (const { appEnvId } of [from, into]) await fixture.engine.purge(appEnvId)
  })

  it('are removed with their environment and its image while a backup is read', async () => {
    const appEnvId = `env_${randomId()}`
    const dockerfile = 'FROM scratch\nCOPY keep /keep\nCMD ["/none"]\n'
    const { image } = await fixture.build({ Dockerfile: dockerfile, keep: 'x' }, { appEnvId })
    const spec = { ...volume(image), appEnvId }
    const reading = fixture.engine.volumes!.dump(spec, never)[Symbol.asyncIterator]()
    expect((await reading.next()).done).toBe(false)
    // The container that holds the volume for the backup is of the image.
    await fixture.engine.purge(appEnvId)
    const left = (await fixture.engine.owned?.())?.filter((one) => one.appEnvId === appEnvId)
    expect(left).toEqual([])
    await reading.return?.()
  })

  it('is copied and restored although the image has no program and no such folder', async () => {
    const dockerfile = 'FROM scratch\nCOPY keep /keep\nCMD ["/none"]\n'
    const { image } = await fixture.build({ Dockerfile: dockerfile, keep: 'x' })
    const spec = volume(image)
    const tar = pack()
    tar.entry({ name: 'letters/first', mode: 0o640 }, 'dear')
    tar.entry({ name: 'letters/größe.txt', mode: 0o600 }, 'not ASCII')
    tar.finalize()
    await load(spec, await buffer(tar as AsyncIterable<Buffer>))
    const found: string[] = []
    const copy = await dump(spec)
    await eachEntry(Readable.from([copy]), async ({ name, mode, type }) => {
      if (type === 'file') found.push(`${name} ${mode.toString(8)}`)
    })
    expect(found.sort()).toEqual(['letters/first 640', 'letters/größe.txt 600'])
    await fixture.engine.purge(spec.appEnvId)
  })
})
