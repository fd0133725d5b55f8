import type { DialOptions } from '../alerting/notifiers/dial.ts'
import { createOutbound } from '../alerting/notifiers/outbound.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { Db } from '../store/db.ts'
import { ChatOutboxWorker, type OutboxWorkerDeps } from './outbox-worker.ts'
import { Receiver } from './receiver.ts'
import { Responder } from './responder.ts'
import type { Words } from './sentences.ts'
import { createWriters } from './slack/web-api.ts'
import { ChatSockets } from './sockets.ts'

interface ChatDeps extends Omit<OutboxWorkerDeps, 'writers'>, Pick<DialOptions, 'allowPrivate' | 'resolve'> {
  runner: OperationRunner
  words: Words
  /** The API of Slack, without a trailing slash. */
  slackApiUrl: string
}

/** Chats of an installation: `receiver` takes requests on every instance, the rest runs on one at a time. */
export interface Chat {
  receiver: Receiver
  outbox(db: Db): ChatOutboxWorker
  sockets(db: Db): ChatSockets
}

export function openChat({ slackApiUrl: apiBase, ...deps }: ChatDeps): Chat {
  const writers = createWriters({ ...deps, defaultBase: apiBase })
  const outbound = createOutbound({ ...deps, deadlineMs: 10_000 })
  const responder = new Responder(deps)
  const receiver = new Receiver({ ...deps, responder, writers, outbound })
  return {
    receiver,
    outbox: (db) => new ChatOutboxWorker({ ...deps, writers, db }),
    sockets: (db) => new ChatSockets({ ...deps, receiver, apiBase, db }),
  }
}
