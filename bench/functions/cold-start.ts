import type { AvailableEngine } from '../../testkit/engines/available-engines.ts'
import { machine, median, ms, quantile, say } from '../../testkit/figures.ts'
import { pausedWay, waysByHand } from './by-hand.ts'
import { type Fixture, firstByte, startFixture } from './fixture.ts'

/**
 * F2: a request at zero until its first byte, against starting the same container by hand until it answers; runs
 * taken in turn, medians. Goal: at most 15 ms above.
 */
export async function coldStart(available: AvailableEngine, runs: number): Promise<void> {
  const fixture = await startFixture(available)
  try {
    const ways = await waysByHand(fixture)
    const samples = new Map<string, number[]>(Object.keys(ways).map((name) => [name, []]))
    const cold: number[] = []
    for (let run = -1; run < runs; run++) {
      for (const [name, way] of Object.entries(ways)) {
        await settled(fixture)
        const tookMs = await way()
        if (run >= 0) samples.get(name)!.push(tookMs)
      }
      await settled(fixture)
      const { status, ms: tookMs } = await firstByte(fixture.gatewayPort, fixture.host)
      if (status !== 200) throw new Error(`the cold request was answered ${status}`)
      if (run >= 0) cold.push(tookMs)
    }
    say(`cold start, ${available.engine} engine, ${runs} runs in turn (${machine()})`)
    for (const [name, all] of samples) say(line(name, all))
    say(line('request at zero → first byte', cold))
    for (const [name, all] of [...samples].filter(([way]) => way !== pausedWay)) {
      say(`  over ${name.padEnd(32)} ${ms(median(cold) - median(all))}   (goal: at most 15 ms)`)
    }
  } finally {
    await fixture.close()
  }
}

/** Waits for zero containers and some time for preparation, as between real requests. */
async function settled(fixture: Fixture): Promise<void> {
  await fixture.untilZero()
  await new Promise((resolve) => setTimeout(resolve, 600))
}

function line(name: string, all: readonly number[]): string {
  const at = (share: number) => ms(quantile(all, share)).padStart(10)
  return `  ${name.padEnd(36)} median ${at(0.5)}   p10 ${at(0.1)}   p90 ${at(0.9)}`
}
