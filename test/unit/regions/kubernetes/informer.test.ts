import { describe, expect, it, onTestFinished } from 'vitest'
import { Informer, NotListed, type Watched } from '../../../../src/regions/kubernetes/informer.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'
import { FakeApiServer } from '../../../../testkit/kubernetes/fake-api-server.ts'

const longestRetryMs = 5_000

function followed(prepare: (server: FakeApiServer) => void = () => {}) {
  const server = new FakeApiServer()
  prepare(server)
  const clock = new TestClock()
  const changes: string[] = []
  const informer = new Informer<Watched>({
    ...{ clock, server: () => server, path: 'api/v1/pods', labelSelector: 'a=b' },
    keep: (object) => object,
    changed: (now, before) => {
      changes.push(`${now ? (before ? 'changed' : 'new') : 'gone'} ${(now ?? before)?.metadata.name}`)
    },
    stateChanged: () => {},
  })
  informer.start()
  onTestFinished(() => informer.stop())
  /** Lets it take what is there, and retry what failed. */
  const passTime = async () => {
    for (let passedMs = 0; passedMs < 2 * longestRetryMs; passedMs += longestRetryMs / 10) {
      await clock.advance(longestRetryMs / 10)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const names = () => [...informer.objects].map(({ metadata }) => metadata.name).sort()
  return { server, informer, changes, passTime, names }
}

describe('an informer', () => {
  it('lists by pages, and then follows every change', async () => {
    const { server, informer, changes, passTime, names } = followed((one) => {
      for (let index = 0; index < 1_200; index += 1) one.set(`p${index}`)
    })
    expect(informer.problem).toBeInstanceOf(NotListed)
    await passTime()
    expect(informer.problem).toBeNull()
    expect(server.pages).toEqual([500, 500, 200])
    expect(names()).toHaveLength(1_200)
    changes.length = 0
    server.set('fresh')
    server.set('p7')
    server.delete('p8')
    await passTime()
    expect(changes).toEqual(['new fresh', 'changed p7', 'gone p8'])
    expect(server.pages).toHaveLength(3)
  })

  it.each(['closed', 'broken'] as const)('goes on from the last event after a %s watch', async (how) => {
    const { server, changes, passTime } = followed((one) => one.set('a'))
    await passTime()
    server.bookmark()
    await passTime()
    server.endWatches(how)
    // Before it watches again.
    server.set('b')
    server.delete('a')
    await passTime()
    expect(changes).toEqual(['new a', 'new b', 'gone a'])
    expect(server.watches).toEqual(['11', '12'])
    expect(server.pages).toEqual([1])
  })

  it('reads the list again after 410 Gone, and finds what it missed', async () => {
    const { server, informer, changes, passTime, names } = followed((one) => {
      one.set('stays')
      one.set('goes')
      one.set('changes')
    })
    await passTime()
    changes.length = 0
    server.isAway = true
    server.endWatches('broken')
    await passTime()
    expect(informer.problem).toBeInstanceOf(Error)
    server.delete('goes')
    server.set('changes')
    server.set('comes')
    server.compact()
    server.isAway = false
    await passTime()
    expect(informer.problem).toBeNull()
    expect(changes.sort()).toEqual(['changed changes', 'gone goes', 'new comes'])
    expect(names()).toEqual(['changes', 'comes', 'stays'])
    changes.length = 0
    server.set('later')
    await passTime()
    expect(changes).toEqual(['new later'])
  })

  it('begins the list again when a page of it has expired', async () => {
    const { server, passTime, names } = followed((one) => {
      for (let index = 0; index < 600; index += 1) one.set(`p${index}`)
      const { getJson } = one
      let calls = 0
      one.getJson = (path, query) => {
        calls += 1
        if (calls === 2) {
          one.set('meanwhile')
          one.compact()
        }
        return getJson.call(one, path, query) as never
      }
    })
    await passTime()
    expect(server.pages).toEqual([500, 500, 101])
    expect(names()).toHaveLength(601)
  })

  it('is not current while the server is away, keeps what it knows, and comes back by itself', async () => {
    const { server, informer, passTime, names } = followed((one) => one.set('a'))
    await passTime()
    server.isAway = true
    server.endWatches('broken')
    await passTime()
    expect(informer.problem).toMatchObject({ message: 'ECONNREFUSED' })
    expect(names()).toEqual(['a'])
    server.isAway = false
    await passTime()
    expect(informer.problem).toBeNull()
  })
})
