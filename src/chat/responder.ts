import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { decideApproval, getApproval, listApprovals } from '../contract/approvals.ts'
import type { Operation, OutputOf } from '../contract/operation.ts'
import type { StoredChatConnection } from '../domain/chat/connection.ts'
import { AppError } from '../errors.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { Db } from '../store/db.ts'
import {
  type ChatPerson,
  findChatUserOf,
  type StoredChatUser,
  saveChatLink,
} from '../store/repositories/chat-users.ts'
import { approvalMessage, reviewedIn, waitingApprovals } from './approvals.ts'
import { type Calls, callsOf, refusalText } from './calls.ts'
import type { ChatReply, ChatWriter, Incoming } from './chat.ts'
import { helpLines, type Wanted, wantedBy } from './commands.ts'
import { askFirst, canceled, confirmed } from './questions.ts'
import { answerLines, type Words } from './sentences.ts'
import { escaped } from './text.ts'

const linkLifeMs = 10 * 60_000
/** Slack refuses longer values of buttons. */
const mostOfValue = 2_000

interface ResponderDeps {
  db: Db
  clock: Clock
  runner: OperationRunner
  publicUrl: () => string
  words: Words
}

interface Conversation {
  calls: Calls
  person: ChatPerson
  incoming: Incoming
  /** Null: the connection has no bot token. */
  writer: ChatWriter | null
}

/** Answers commands, clicks and forms. Every one is a call of its person; the channel gives no rights. */
export class Responder {
  readonly #deps: ResponderDeps
  readonly #questions: { db: Db; nowMs: () => number }

  constructor(deps: ResponderDeps) {
    this.#deps = deps
    this.#questions = { db: deps.db, nowMs: () => deps.clock.wallMs() }
  }

  /** Null: there is no answer. Throws for bugs only. */
  async answer(
    { connectionId, name }: StoredChatConnection,
    incoming: Incoming,
    writer: ChatWriter | null,
  ): Promise<ChatReply | null> {
    const { workspace, chatUser } = incoming
    const person = { connectionId, workspace, chatUser }
    const user = await this.#deps.db.read((tx) => findChatUserOf(tx, person))
    if (!user) return this.#link(person, incoming, name)
    try {
      return await this.#answerTo(user, { person, incoming, writer })
    } catch (error) {
      return { title: 'Not done', lines: [escaped(this.#deps.words.asCommands(refusalText(error)))] }
    }
  }

  #answerTo(user: StoredChatUser, conversation: Omit<Conversation, 'calls'>): Promise<ChatReply | null> {
    const own = { ...conversation, calls: callsOf(this.#deps.runner, user) }
    const { kind, text, action, value } = conversation.incoming
    if (kind === 'command') return this.#command(own, text)
    if (kind === 'form') return this.#decide(own, 'deny', value, text)
    switch (action) {
      case 'approve':
        return this.#decide(own, 'approve', value)
      case 'deny':
        return this.#askReason(own, value)
      case 'confirm':
        return this.#confirm(own, value)
      case 'cancel':
        return canceled(this.#questions, own.person, value)
      case 'share':
        return this.#command(own, `${value} --share`, true)
      default:
        throw new AppError('invalid', 'There is no such button')
    }
  }

  async #command(conversation: Conversation, text: string, readsOnly = false): Promise<ChatReply> {
    const all = text.trim().split(/\s+/).filter(Boolean)
    const words = all.filter((word) => word !== '--share')
    const shared = words.length < all.length
    const wanted = await wantedBy(conversation.calls, words)
    if (readsOnly && wanted.kind !== 'read') throw new AppError('invalid', 'Only answers of reads are shared')
    if (wanted.kind === 'write') {
      return askFirst(this.#questions, conversation.calls, conversation.person, { ...wanted, shared })
    }
    const reply = await this.#read(conversation, wanted)
    if (shared) return { ...reply, shared: true }
    const value = words.join(' ')
    const isShareable = wanted.kind === 'read' && value.length <= mostOfValue
    return isShareable ? { ...reply, buttons: [{ label: 'Share', action: 'share', value }] } : reply
  }

  async #read({ calls }: Conversation, wanted: Exclude<Wanted, { kind: 'write' }>): Promise<ChatReply> {
    switch (wanted.kind) {
      case 'help':
        return { title: wanted.problem ?? 'Commands', lines: helpLines() }
      case 'approvals': {
        const { accountId } = calls
        const { approvals } = (await calls.read(listApprovals, {
          accountId,
          status: 'pending',
        })) as OutputOf<typeof listApprovals>
        return waitingApprovals(approvals)
      }
      case 'approval':
        return approvalMessage(await this.#approval(calls, wanted.approvalId))
      case 'deny': {
        const { approvalId, reason } = wanted
        const { reviewDigest } = await this.#approval(calls, approvalId)
        return this.#decided(calls, { approvalId, reviewDigest, decision: 'deny', comment: reason })
      }
      case 'read': {
        const { operation, input, envName } = wanted
        return this.#reported(operation, input, envName, await calls.read(operation, input))
      }
    }
  }

  async #approval(calls: Calls, approvalId: string): Promise<OutputOf<typeof getApproval>> {
    return (await calls.read(getApproval, { approvalId })) as OutputOf<typeof getApproval>
  }

  async #decide(
    { calls }: Conversation,
    decision: string,
    value: string,
    comment?: string,
  ): Promise<ChatReply> {
    const reviewed = reviewedIn(value)
    if (!reviewed) throw new AppError('invalid', 'This button is of an unknown approval')
    return this.#decided(calls, { ...reviewed, decision, ...(comment ? { comment } : {}) })
  }

  async #decided(calls: Calls, input: Record<string, unknown>): Promise<ChatReply> {
    const { answer } = await calls.write(decideApproval, input)
    return { title: escaped(String(answer.message)), lines: [] }
  }

  /** A form where the chat has forms, else a command. The right to decide is checked when the reason comes. */
  async #askReason({ writer, incoming }: Conversation, value: string): Promise<ChatReply | null> {
    const reviewed = reviewedIn(value)
    if (!reviewed) throw new AppError('invalid', 'This button is of an unknown approval')
    const { triggerId, responseUrl } = incoming
    const form = { title: 'Deny', label: 'Reason, for the requester', action: 'deny', value }
    const sent = writer && triggerId ? await writer.ask(triggerId, form, responseUrl) : null
    if (sent?.ok) return null
    return { title: 'Why?', lines: [`\`/longshore deny ${escaped(reviewed.approvalId, 64)} <reason>\``] }
  }

  async #confirm({ calls, person }: Conversation, questionId: string): Promise<ChatReply> {
    const done = await confirmed(this.#questions, calls, person, questionId)
    if (!('operation' in done)) return done
    const { operation, input, envName, shared, status, answer } = done
    if (status !== 202) return { ...this.#reported(operation, input, envName, answer), shared }
    return {
      title: 'People must approve this first; nothing has changed yet.',
      lines: [`${answer.approvalId}: ${answer.url}`, `\`/longshore approve ${answer.approvalId}\``],
    }
  }

  #reported(
    operation: Operation,
    input: object,
    envName: string,
    answer: Record<string, unknown>,
  ): ChatReply {
    const { words } = this.#deps
    const sentence = words.sentence(operation.id, answer, { ...input, envName }, envName)
    const asCommands = (text: string) => words.asCommands(text, envName || undefined)
    return {
      title: escaped(asCommands(sentence), 1_500),
      lines: answerLines(operation.id, answer, asCommands),
    }
  }

  /** Only the link: unmapped people learn nothing else, not even whether an account or environment exists. */
  async #link(person: ChatPerson, { chatName }: Incoming, connection: string): Promise<ChatReply> {
    const code = randomBytes(32).toString('base64url')
    const expiresAt = new Date(this.#deps.clock.wallMs() + linkLifeMs).toISOString()
    const link = { ...person, chatName: escaped(chatName, 100), expiresAt }
    await this.#deps.db.write((tx) => saveChatLink(tx, code, link))
    return {
      title: 'Connect yourself first',
      lines: [
        `Open this link while you are signed in to the console of Longshore: ${this.#deps.publicUrl()}/console/chat?code=${code}`,
        `It works once, for ten minutes, and only you see it. Do not pass it on: anybody who opens it lets you act as them (connection ${escaped(connection, 50)}).`,
      ],
    }
  }
}
