import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { sampledMetrics } from '../../../src/contract/metrics.ts'
import {
  hourMs,
  minuteMs,
  newDir,
  openStore,
  over,
  periodMs,
  run,
  startMs,
  uneven,
} from '../../../testkit/metrics/samples.ts'

describe('a restart', () => {
  it('loses and repeats nothing, whenever it happens', async () => {
    const whole = await openStore()
    await run(whole, 900, uneven)
    const dir = newDir()
    let store = await openStore(dir)
    for (let turn = 1; turn <= 900; turn += 1) {
      await store.append(startMs + turn * periodMs, uneven(turn))
      if (turn % 97 === 0) store = await openStore(dir)
    }
    for (const metric of sampledMetrics) {
      const query = {
        appEnvId: 'env_a',
        metric,
        fromMs: startMs,
        toMs: startMs + 900 * periodMs,
        stepMs: 5 * minuteMs,
      }
      const [restarted, expected] = [await store.series(query), await whole.series(query)]
      expect(restarted.length).toBe(expected.length)
      for (const [index, point] of expected.entries()) {
        for (const part of ['t', 'value', 'min', 'max', 'last'] as const) {
          // Merged records hold 24 bits of a mean; a lost or doubled sample shows far above that.
          expect(restarted[index]![part], `${metric} ${part}`).toBeCloseTo(point[part], 4)
        }
      }
    }
  }, 60_000)

  it('skips a sample that a crash left incomplete', async () => {
    const dir = newDir()
    const store = await openStore(dir)
    await run(store, 10, uneven)
    const [name] = readdirSync(path.join(dir, '10000ms')).filter((file) => file.startsWith('recent'))
    const file = path.join(dir, '10000ms', name!)
    truncateSync(file, statSync(file).size - 7)
    const again = await openStore(dir)
    await run(again, 3, uneven, 11)
    const query = { appEnvId: 'env_a', metric: 'cpu_usage' as const, stepMs: periodMs }
    const points = await again.series({ ...query, fromMs: startMs, toMs: startMs + 20 * periodMs })
    expect(points).toHaveLength(12)
    const third = await openStore(dir)
    expect(await third.series({ ...query, fromMs: startMs, toMs: startMs + 20 * periodMs })).toEqual(points)
  })

  it('cuts off an incomplete downsampled record before it continues', async () => {
    const dir = newDir()
    const store = await openStore(dir)
    await run(store, 200, uneven)
    const file = path.join(dir, '10000ms', 'env', 'env_a')
    const minutes = path.join(file, readdirSync(file).find((name) => name.startsWith('minute'))!)
    truncateSync(minutes, statSync(minutes).size - 9)
    const again = await openStore(dir)
    await run(again, 1_400, uneven, 201)
    const query = { appEnvId: 'env_a', metric: 'cpu_usage' as const, fromMs: startMs, stepMs: 5 * minuteMs }
    const points = await again.series({ ...query, toMs: startMs + 33 * minuteMs })
    const fine = await openStore()
    await run(fine, 300, uneven)
    const expected = await fine.series({ ...query, toMs: startMs + 33 * minuteMs })
    expect(points.map(({ value }) => value.toFixed(3))).toEqual(expected.map(({ value }) => value.toFixed(3)))
  }, 30_000)

  it('forgets environments that are gone', async () => {
    const dir = newDir()
    const store = await openStore(dir)
    await run(store, 100, uneven)
    const again = await openStore(dir, () => false)
    expect(await over(again, 'cpu_usage', startMs, startMs + hourMs)).toBeNull()
    expect(readdirSync(path.join(dir, '10000ms', 'env'))).toEqual([])
  })

  it('goes on measuring in memory while the disk cannot be written', async () => {
    const dir = newDir()
    const store = await openStore(dir)
    rmSync(path.join(dir, '10000ms'), { recursive: true })
    await run(store, 5, uneven)
    expect(await over(store, 'cpu_usage', startMs, startMs + hourMs)).not.toBeNull()
  })
})
