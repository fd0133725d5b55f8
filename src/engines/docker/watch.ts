import type Docker from 'dockerode'
import { type Clock, sleep } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { jsonLines, openStream } from './client.ts'
import { ownContainers, platformName } from './names.ts'

const firstWaitMs = 100
const longestWaitMs = 5_000

/** Events of a watched engine. */
interface WatchedEvents {
  onEvent(name: string): void
  /** The watch has just started or reconnected, so events may have been missed. */
  onConnected(): void
  onLost(): void
}

/** Streams the engine's events of this installation's containers until aborted; reconnects if the engine restarts. */
export async function watchContainers(options: {
  docker: () => Promise<Docker>
  installationId: string
  events: WatchedEvents
  clock: Clock
  log: Log
  signal: AbortSignal
}): Promise<void> {
  const { events, clock, log, signal } = options
  let waitMs = firstWaitMs
  while (!signal.aborted) {
    try {
      const query = { filters: filtersFor(options.installationId) }
      const stream = await openStream(await options.docker(), '/events', query, signal)
      waitMs = firstWaitMs
      events.onConnected()
      for await (const event of jsonLines(stream)) {
        const name = (event.Actor as { Attributes?: { name?: string } } | undefined)?.Attributes?.name
        if (name) events.onEvent(platformName(name))
      }
    } catch (error) {
      if (!signal.aborted) log.debug({ err: error }, 'lost the event stream of the container engine')
    }
    events.onLost()
    await sleep(clock, waitMs, signal)
    waitMs = Math.min(waitMs * 2, longestWaitMs)
  }
}

const watchedEvents = ['create', 'start', 'die', 'oom', 'destroy', 'pause', 'unpause', 'rename']

function filtersFor(installationId: string): Record<string, string[]> {
  return {
    type: ['container'],
    label: ownContainers(installationId),
    event: watchedEvents,
  }
}
