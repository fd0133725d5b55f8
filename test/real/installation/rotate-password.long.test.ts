import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { restartAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvHistory, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import { rotateDatabasePassword } from '../../../src/contract/databases.ts'
import { DatabaseFixture, mysql, present, psql, redisCli } from '../../../testkit/databases/fixture.ts'
import { databaseImageSource, ensureDatabaseImages } from '../../../testkit/databases/images.ts'
import { dockerAvailable } from '../../../testkit/engines/docker-available.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Answers 1 if the server takes the password of the URL. */
const asks = {
  POSTGRESQL: (url: string) => psql(url, 'select 1'),
  MYSQL: (url: string) => mysql(url, 'select 1'),
  REDIS: (url: string) => redisCli(url, 'incrby', 'one', '0').then((text) => (text === '0' ? '1' : text)),
}
const clients = {
  POSTGRESQL: await present('psql'),
  MYSQL: await present('mariadb', 'mariadbd'),
  REDIS: await present('redis-cli', 'redis-server'),
}
const images = dockerAvailable ? await ensureDatabaseImages() : []

const engines = [
  { engine: 'process', presets: ['POSTGRESQL', 'MYSQL', 'REDIS'] },
  {
    engine: 'docker',
    presets: [
      ...(images.includes('postgres') ? ['POSTGRESQL'] : []),
      ...(images.includes('redis') ? ['REDIS'] : []),
    ],
  },
] as { engine: string; presets: (keyof typeof asks)[] }[]

for (const { engine, presets } of engines.filter(({ presets }) => presets.length > 0)) {
  describe(`rotating a password on the ${engine} engine`, () => {
    const installation = new Installation({
      LONGSHORE_ENGINE: engine,
      ...(engine === 'docker' && { LONGSHORE_DATABASE_IMAGES: databaseImageSource }),
    })
    const fixture = new DatabaseFixture(installation)
    beforeAll(() => installation.start().then(() => {}))
    afterAll(() => installation.dispose())

    it.for(presets)(
      '%s takes the new one only, also after a restart (skipped without its programs)',
      async (preset, context) => {
        if (!clients[preset]) context.skip(`no client of ${preset} is installed`)
        const appEnvId = await fixture.makeOrSkip(context, preset)
        const client = installation.client()
        const urls = [await fixture.url(appEnvId)]
        for (const count of [1, 2]) {
          await client.call(rotateDatabasePassword, { appEnvId })
          await untilRead(
            () => client.call(getAppEnvHistory, { appEnvId }),
            ({ activities }) =>
              activities.filter(({ activity, status }) => activity === 'ROTATE_PASSWORD' && status === 'DONE')
                .length === count,
            'a finished rotation',
          )
          urls.push(await fixture.url(appEnvId))
        }
        const [first = '', second = '', now = ''] = urls
        expect(new Set(urls).size).toBe(3)
        await client.call(restartAppEnv, { appEnvId })
        await untilRead(
          () => client.call(getAppEnvStatus, { appEnvId }),
          ({ status, currentDeployment }) => status === 'RUNNING' && currentDeployment?.status === 'DEPLOYED',
          'the restarted database',
        )
        expect(await asks[preset](now)).toBe('1')
        for (const old of [first, second]) {
          const answer = await asks[preset](old).catch(String)
          expect(answer).toMatch(/password authentication failed|Access denied|WRONGPASS|NOAUTH/)
        }
        await client.call(deleteAppEnv, { appEnvId })
      },
    )
  })
}
