import type { Page } from 'playwright-core'
import { newId } from '../../src/domain/ids.ts'
import type { ConsoleFixture } from './fixture.ts'

/** Copies one environment in the store until the account has this many. */
export async function fillAccount(fixture: ConsoleFixture, environments: number): Promise<void> {
  const { appEnvId } = await fixture.platform.makeEnvironment()
  await fixture.platform.db.write(async (tx) => {
    const row = await tx
      .selectFrom('app_envs')
      .selectAll()
      .where('app_env_id', '=', appEnvId)
      .executeTakeFirstOrThrow()
    for (let number = 1; number < environments; number += 1) {
      const id = newId('env')
      const name = `copy-${number}`
      const record = JSON.stringify({ ...JSON.parse(row.record), appEnvId: id, cliEnvName: name, name })
      await tx
        .insertInto('app_envs')
        .values({ ...row, app_env_id: id, cli_env_name: name, record })
        .execute()
    }
  })
}

/** Milliseconds from the click on a sign-in link to the first link of the list, in a browser without a cache. */
export async function msToInteractive(fixture: ConsoleFixture): Promise<number> {
  const page = await fixture.page(await fixture.context())
  await page.addInitScript(() => {
    new MutationObserver((_changes, observer) => {
      if (!document.querySelector('tbody a')) return
      observer.disconnect()
      // Two frames later it is painted, and the main thread has time for a click.
      requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('interactive')))
    }).observe(document, { childList: true, subtree: true })
  })
  const { code } = await fixture.platform.sessions.createLink(fixture.platform.admin.token)
  await page.goto(`${fixture.address('/sign-in')}#${code}`)
  const interactive = await page.waitForFunction(
    () => performance.getEntriesByName('interactive')[0]?.startTime,
  )
  const ms = (await interactive.jsonValue()) as number
  await page.context().close()
  return ms
}

/** Milliseconds between frames while the list of environments scrolls by, shortest first. */
export async function scrollFrames(page: Page, frames = 180): Promise<number[]> {
  const list = page.getByLabel('List of environments')
  return await list.evaluate(
    (element, count) =>
      new Promise<number[]>((resolve) => {
        const took: number[] = []
        let before = performance.now()
        const step = (now: number) => {
          took.push(now - before)
          before = now
          element.scrollTop += 40
          if (took.length < count) requestAnimationFrame(step)
          else resolve(took.slice(2).sort((a, b) => a - b))
        }
        requestAnimationFrame(step)
      }),
    frames,
  )
}

export interface PageMemory {
  heapMb: number
  nodes: number
  listeners: number
}

/** The memory of a page after garbage collection. */
export async function memoryOf(page: Page): Promise<PageMemory> {
  const debug = await page.context().newCDPSession(page)
  for (let round = 0; round < 3; round += 1) await debug.send('HeapProfiler.collectGarbage')
  // Answers are strings outside of the heap of scripts. The heap of the browser itself is left out: in it the debugger
  // keeps a record of every request.
  const { usedSize, backingStorageSize } = await debug.send('Runtime.getHeapUsage')
  const bytes = usedSize + backingStorageSize
  const { nodes, jsEventListeners: listeners } = await debug.send('Memory.getDOMCounters')
  await debug.detach()
  return { heapMb: bytes / 2 ** 20, nodes, listeners }
}

/** A measured time as it would be on a machine without other work, which takes a share of each core. */
export async function onOneCore(measured: () => Promise<number>): Promise<number> {
  const before = shareOfCore()
  const ms = await measured()
  return (ms * (before + shareOfCore())) / 2
}

/** How much of a core this process gets now. */
function shareOfCore(): number {
  const startMs = performance.now()
  const before = process.cpuUsage()
  while (performance.now() - startMs < 200);
  const { user, system } = process.cpuUsage(before)
  return Math.min(1, (user + system) / 1_000 / (performance.now() - startMs))
}
