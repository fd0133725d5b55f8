import { expect, it } from 'vitest'
import { BuildQueue } from '../../../../src/regions/rollouts/build-queue.ts'

/** Builds that end on request, and the order in which they started. */
class Builds {
  readonly queue = new BuildQueue()
  readonly began: string[] = []
  readonly #ends = new Map<string, () => void>()

  add(name: string, signal = new AbortController().signal): Promise<void> {
    const [accountId = ''] = name.split('-')
    return this.queue.run(accountId, signal, () => {
      this.began.push(name)
      return new Promise((resolve) => this.#ends.set(name, resolve))
    })
  }

  async end(name: string): Promise<void> {
    await new Promise(setImmediate)
    this.#ends.get(name)?.()
    await new Promise(setImmediate)
  }
}

it('a free build place goes to the account with the fewest running builds', async () => {
  const builds = new Builds()
  for (const name of ['a-1', 'a-2', 'a-3', 'a-4', 'b-1', 'b-2']) void builds.add(name)
  await builds.end('a-1')
  expect(builds.began).toEqual(['a-1', 'a-2', 'b-1'])
  await builds.end('a-2')
  expect(builds.began.slice(3)).toEqual(['a-3'])
  await builds.end('b-1')
  expect(builds.began.slice(4)).toEqual(['b-2'])
})

it('one account has both build places while no other waits', async () => {
  const builds = new Builds()
  for (const name of ['a-1', 'a-2', 'a-3']) void builds.add(name)
  await builds.end('a-2')
  expect(builds.began).toEqual(['a-1', 'a-2', 'a-3'])
})

it('a build that is aborted while it waits leaves the queue', async () => {
  const builds = new Builds()
  const aborted = new AbortController()
  void builds.add('a-1')
  void builds.add('a-2')
  const waiting = builds.add('b-1', aborted.signal)
  void builds.add('a-3')
  aborted.abort(new Error('a newer version'))
  await expect(waiting).rejects.toThrow('a newer version')
  await builds.end('a-1')
  expect(builds.began).toEqual(['a-1', 'a-2', 'a-3'])
})

it('a failed build gives its place back', async () => {
  const { queue } = new Builds()
  const signal = new AbortController().signal
  const fail = () => queue.run('a', signal, () => Promise.reject(new Error('exit 1')))
  for (let nth = 1; nth <= 3; nth += 1) await expect(fail()).rejects.toThrow('exit 1')
})
