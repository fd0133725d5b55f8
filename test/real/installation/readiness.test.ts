import { renameSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'
import { until } from '../../../testkit/platform/story.ts'

describe('/readyz of a real installation', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  afterAll(() => installation.dispose())

  it('says that the data directory cannot be written, and is ready again by itself', async () => {
    await installation.start()
    const readiness = async () => {
      const answer = await fetch(new URL('/readyz', installation.ready.api))
      return { status: answer.status, body: await answer.text() }
    }
    const ready = ({ status }: { status: number }) => status === 200
    await until(readiness, ready, 'ready')
    // Permissions do not bind root, and a full disk needs a mount; a missing folder fails the same way.
    const run = path.join(installation.home, 'run')
    renameSync(run, `${run}-away`)
    try {
      expect(await readiness()).toEqual({
        status: 503,
        body: expect.stringContaining(`The data directory ${installation.home} cannot be written (ENOENT)`),
      })
    } finally {
      renameSync(`${run}-away`, run)
    }
    await until(readiness, ready, 'ready again')
  })
})
