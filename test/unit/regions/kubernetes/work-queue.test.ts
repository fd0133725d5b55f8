import { describe, expect, it } from 'vitest'
import { WorkQueue } from '../../../../src/regions/kubernetes/work-queue.ts'

/** A queue whose work ends when the test says so. */
function queueOf({ lanes = 1, backgroundLanes = 1 } = {}) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const queue = new WorkQueue<number>({
    ...{ lanes, backgroundLanes },
    work: (key, task) => {
      begun.push(`${key} ${task}`)
      return new Promise<void>((resolve) => ends.set(key, resolve))
    },
    merge: Math.max,
  })
  const end = async (key: string) => {
    ends.get(key)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { queue, begun, end }
}

describe('the work queue of a cluster region', () => {
  it('takes what users change before what the cluster reports, and both before a resync', async () => {
    const { queue, begun, end } = queueOf()
    queue.add('a', 'background', 0)
    queue.add('b', 'cluster', 0)
    queue.add('c', 'user', 0)
    queue.add('d', 'background', 0)
    queue.add('d', 'user', 0)
    expect(begun).toEqual([])
    queue.open()
    for (const key of ['c', 'd', 'b', 'a']) await end(key)
    expect(begun).toEqual(['c 0', 'd 0', 'b 0', 'a 0'])
  })

  it('leaves lanes to changes while a resync is under way', async () => {
    const { queue, begun } = queueOf({ lanes: 3, backgroundLanes: 2 })
    queue.open()
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key, 'background', 0)
    expect(begun).toEqual(['a 0', 'b 0'])
    queue.add('change', 'user', 0)
    expect(begun).toEqual(['a 0', 'b 0', 'change 0'])
  })

  it('works on a key once for what came while it waited, and once more for what came during the work', async () => {
    const { queue, begun, end } = queueOf({ lanes: 2 })
    queue.add('a', 'user', 0)
    queue.add('a', 'cluster', 2)
    queue.open()
    queue.add('a', 'cluster', 1)
    expect(begun).toEqual(['a 2'])
    await end('a')
    expect(begun).toEqual(['a 2', 'a 1'])
  })

  it('has caught up when all urgent work is done, whatever waits in the background', async () => {
    const { queue, end } = queueOf({ lanes: 2 })
    queue.open()
    queue.add('a', 'background', 0)
    queue.add('b', 'background', 0)
    queue.add('c', 'user', 0)
    queue.add('d', 'cluster', 0)
    let isUp = false
    const up = queue.caughtUp().then(() => (isUp = true))
    await end('c')
    expect(isUp).toBe(false)
    await end('d')
    await up
  })

  it('closed, begins nothing and lets no caller wait; opened again, goes on', async () => {
    const { queue, begun, end } = queueOf()
    queue.open()
    queue.add('a', 'user', 0)
    queue.add('b', 'user', 0)
    const up = queue.caughtUp()
    queue.close()
    await up
    await end('a')
    expect(begun).toEqual(['a 0'])
    queue.open()
    expect(begun).toEqual(['a 0', 'b 0'])
    const ended = queue.end()
    await end('b')
    await ended
    queue.add('c', 'user', 0)
    queue.open()
    expect(begun).toEqual(['a 0', 'b 0'])
  })

  it('ended before it opens, lets no caller wait for what is left', async () => {
    const { queue, begun } = queueOf()
    queue.add('a', 'user', 0)
    await queue.end()
    queue.open()
    await queue.caughtUp()
    expect(begun).toEqual([])
  })
})
