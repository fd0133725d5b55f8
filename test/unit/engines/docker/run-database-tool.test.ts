import { PassThrough } from 'node:stream'
import type Docker from 'dockerode'
import { expect, it } from 'vitest'
import { dumpDatabase } from '../../../../src/engines/docker/run-database-tool.ts'
import type { DatabaseSpec } from '../../../../src/engines/engine.ts'

it('a stop that comes while the engine prepares the tool ends a dump that would not end', async () => {
  const stop = new AbortController()
  const container = {
    exec: async () => {
      stop.abort(new Error('stopped'))
      return { start: async () => new PassThrough() }
    },
  } as unknown as Docker.Container
  const database = {
    ...{ dockerPreset: 'POSTGRESQL', user: 'shop', password: 'p', database: 'shop' },
    ports: [{ port: 5432 }],
  } as unknown as DatabaseSpec
  const dump = dumpDatabase(async () => container, database, new PassThrough(), stop.signal)
  await expect(dump).rejects.toThrow('stopped')
})
