import { timestamp } from '../clock.ts'
import type { Instance } from '../contract/instances.ts'
import { serverVersion } from '../mcp/transport/server-info.ts'
import type { Platform } from './platform.ts'

/** This instance, which is the only one: its lease is the lock of the data directory or of the database. */
export function instancesOf({ clock, nodeName, regions }: Platform): () => Instance[] {
  const startedAt = timestamp(clock.wallMs())
  return () => [
    {
      node: nodeName,
      version: serverVersion,
      startedAt,
      lastSeenAt: timestamp(clock.wallMs()),
      leases: [{ name: 'control-plane', since: startedAt }],
      regions: regions.map(({ region }) => region),
    },
  ]
}
