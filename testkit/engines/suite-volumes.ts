import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { type Header, pack } from 'tar-stream'
import { expect, it } from 'vitest'
import type { VolumeSpec } from '../../src/engines/volume-copies.ts'
import { checkedTar, eachEntry } from '../../src/engines/volume-tar.ts'
import type { SuiteInstallation } from './suite-installation.ts'

const never = new AbortController().signal

export function volumeGuarantees(suite: SuiteInstallation): void {
  const mounts = [{ volume: 'data', path: '/app/data' }]
  const env = { DATA_DIR: '/app/data' }

  it('a volume keeps its files when its container is replaced, and is its environment’s alone', async () => {
    const first = await suite.serving(env, { mounts })
    await suite.ask(first.name, '/write?name=note&text=kept')
    await suite.engine.remove(first.name)
    const { appEnvId, accountId } = first
    const second = await suite.serving(env, { mounts, appEnvId, accountId })
    expect(await suite.ask(second.name, '/read?name=note')).toBe('kept')
    const other = await suite.serving(env, { mounts, accountId })
    expect(await suite.ask(other.name, '/read?name=note')).toBe('nothing')
    for (const { name } of [second, other]) await suite.engine.remove(name)
    for (const gone of [appEnvId, other.appEnvId]) await suite.engine.purge(gone)
    const third = await suite.serving(env, { mounts, appEnvId, accountId })
    expect(await suite.ask(third.name, '/read?name=note')).toBe('nothing')
    await suite.engine.remove(third.name)
    await suite.engine.purge(appEnvId)
  })

  const volumeOf = ({ appEnvId, accountId, internalHost }: ReturnType<SuiteInstallation['spec']>) => ({
    ...{ appEnvId, accountId, envName: internalHost, image: suite.image, mount: mounts[0]! },
  })
  const dump = (spec: VolumeSpec) => buffer(checkedTar(suite.engine.volumes!.dump(spec, never)))
  const load = (spec: VolumeSpec, tar: Buffer) =>
    suite.engine.volumes!.load(spec, Readable.from([tar]), never)

  it('a copy of a volume is made while it is used, and replaces all that is in another one', async () => {
    const first = await suite.serving(env, { mounts })
    await suite.ask(first.name, '/write?name=note&text=kept')
    const tar = await dump(volumeOf(first))
    const second = await suite.serving(env, { mounts })
    await suite.ask(second.name, '/write?name=other&text=gone')
    await suite.engine.remove(second.name)
    await load(volumeOf(second), tar)
    const { appEnvId, accountId } = second
    const third = await suite.serving(env, { mounts, appEnvId, accountId })
    expect(await suite.ask(third.name, '/read?name=note')).toBe('kept')
    expect(await suite.ask(third.name, '/read?name=other')).toBe('nothing')
    await suite.removeContainers()
    for (const gone of [first, third]) await suite.engine.purge(gone.appEnvId)
  })

  it('a copy keeps modes, owners, times and links, and may be repeated', async () => {
    const spec = volumeOf(suite.spec(env, { mounts }))
    const mayChown = suite.engine.kind === 'docker' || process.getuid?.() === 0
    const owner = mayChown ? { uid: 1234, gid: 1235 } : { uid: process.getuid?.(), gid: process.getgid?.() }
    const entries = [
      { name: 'closed', type: 'directory', mode: 0o500 },
      { name: 'closed/letter', type: 'file', mode: 0o640, content: 'dear' },
      { name: 'empty', type: 'file', mode: 0o600, content: '' },
      { name: 'script', type: 'file', mode: 0o755, content: '#!/bin/sh' },
      { name: 'to-root', type: 'symlink', linkname: '/etc/passwd' },
      { name: 'up', type: 'symlink', linkname: '../..' },
    ].map((entry) => ({ content: '', linkname: null, mode: 0o777, ...entry, ...owner }))
    const mtime = new Date('2020-02-02T02:02:02Z')
    const tar = pack()
    for (const { content, ...header } of entries) tar.entry({ ...header, mtime } as Header, content)
    tar.finalize()
    const whole = await buffer(tar as AsyncIterable<Buffer>)
    for (let time = 0; time < 2; time += 1) await load(spec, whole)
    const found: object[] = []
    await eachEntry(suite.engine.volumes!.dump(spec, never), async (entry, content) => {
      const { name, type, mode, linkname, uid, gid } = entry
      if (name === '') return
      found.push({ name, type, mode, linkname, uid, gid, content: await text(content) })
      if (type !== 'symlink') expect(entry.mtime).toEqual(mtime)
    })
    const byName = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
    expect(found.sort(byName)).toEqual(entries.map((entry) => expect.objectContaining(entry)))
    await suite.engine.purge(spec.appEnvId)
  })
}
