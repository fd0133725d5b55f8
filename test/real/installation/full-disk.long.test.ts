import { execFileSync } from 'node:child_process'
import { createWriteStream, existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { createApp, listApps } from '../../../src/contract/apps.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
const isMounted = mounted()

function mounted(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', installation.home], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe.skipIf(!isMounted)('a full disk (left out where no file system can be mounted)', () => {
  afterAll(async () => {
    await installation.end('SIGKILL')
    execFileSync('umount', ['-l', installation.home])
    await installation.dispose()
  })

  it('after a crash the platform starts read-only, says so, and goes on once there is room', async () => {
    await installation.start()
    const { accountId } = installation.ready
    const make = (name: string) =>
      installation.client().call(createApp, { accountId, name, dockerPreset: 'CUSTOM', port: 8080 })
    const names = async () =>
      (await installation.client().call(listApps, { accountId })).apps.map(({ name }) => name)
    await make('before')
    const filler = path.join(installation.home, 'filler')
    await expect(pipeline(zeros(), createWriteStream(filler))).rejects.toThrow(/ENOSPC/)
    await installation.end('SIGKILL')

    await installation.start()
    expect(installation.stderr).toContain('is full, so the platform is read-only')
    expect(await names()).toEqual(['before'])
    await expect(make('refused')).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The platform is read-only',
    })
    const readiness = async () => (await fetch(new URL('/readyz', installation.ready.api))).status
    expect(await readiness()).toBe(503)

    rmSync(filler)
    await untilRead(readiness, (status) => status === 200, 'ready again')
    await make('after')
    expect(await names()).toEqual(['before', 'after'])
    expect(existsSync(path.join(installation.home, 'run', 'reserve'))).toBe(true)
  })
})

function* zeros() {
  for (;;) yield Buffer.alloc(1024 ** 2)
}
