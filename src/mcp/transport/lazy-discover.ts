import { takesApps } from '../apps/apps.ts'
import { capabilitiesOf, isRequestOf2026 } from './era.ts'
import type { RpcMessage } from './json-rpc.ts'
import { type LazyAnswer, LazyServer } from './lazy-server.ts'

/** Answers `server/discover` and the lists of revision 2026-07-28. */
export class LazyDiscover extends LazyServer {
  protected answerOf(message: RpcMessage): LazyAnswer | undefined {
    const { prebuilt } = this.options
    // The library rejects malformed requests.
    if (!isRequestOf2026(message)) return undefined
    if (message.method === 'server/discover') return { result: prebuilt.discover }
    const list = this.listOf(message.method ?? '', takesApps(capabilitiesOf(message)))
    return list && { result: { ...prebuilt.listEnvelope, ...list } }
  }
}
