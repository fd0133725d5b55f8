import { createHmac } from 'node:crypto'
import { saveChatUser } from '../../src/store/repositories/chat-users.ts'
import type { TestPlatformOptions } from '../platform/options.ts'
import { TestPlatform, type TestUser } from '../platform/test-platform.ts'
import { until } from '../until.ts'
import { buttonsOf, FakeSlack } from './fake-slack.ts'

type Json = Record<string, unknown>

interface ChatAnswer {
  status: number
  text: string
  /** The lines of the answer, wherever it came. */
  said: string
  shared: boolean
  buttons: { action_id: string; value: string }[]
}

/** A platform with a chat that is connected over HTTP, and its people. */
export class ChatFixture {
  readonly signingSecret = 'the-signing-secret'

  private constructor(
    readonly platform: TestPlatform,
    readonly slack: FakeSlack,
    public connectionId: string,
  ) {}

  static async start(options: TestPlatformOptions = {}, connection: Json = {}): Promise<ChatFixture> {
    const slack = await FakeSlack.start()
    const platform = await TestPlatform.start({ reconciles: false, slackApiUrl: slack.apiUrl, ...options })
    const config = { signingSecret: 'the-signing-secret', botToken: slack.botToken }
    const input = { accountId: platform.accountId, name: 'Team', kind: 'slack-http', channel: 'C1', config }
    const { json } = await platform.request('POST', '/chat-connection', {
      token: platform.admin.token,
      input: { ...input, ...connection },
    })
    return new ChatFixture(platform, slack, json.connection.connectionId)
  }

  /** A connection of another account, with a secret of its own. */
  static async connect(platform: TestPlatform, accountId: string, signingSecret: string): Promise<string> {
    const { token } = await platform.makeUser({ accountId, admin: true })
    const input = { accountId, name: 'Other', kind: 'slack-http', config: { signingSecret } }
    return (await platform.request('POST', '/chat-connection', { token, input })).json.connection.connectionId
  }

  async close(): Promise<void> {
    await this.platform.close()
    await this.slack.close()
  }

  /** As after the link: the chat user acts as the member. */
  async map(chatUser: string, { userId }: Pick<TestUser, 'userId'>): Promise<string> {
    const { accountId, db, now } = this.platform
    const person = { connectionId: this.connectionId, workspace: 'T1', chatUser, chatName: chatUser }
    const user = { ...person, accountId, userId, createdAt: now }
    return (await db.write((tx) => saveChatUser(tx, user, null))).chatUserId
  }

  /** One HTTP request as the chat sends it; `with` changes parts of it. */
  async send(
    form: Record<string, string>,
    given: { secret?: string; atMs?: number; signature?: string; connectionId?: string } = {},
  ): Promise<{ status: number; text: string }> {
    const body = new URLSearchParams(form).toString()
    const at = String(Math.floor((given.atMs ?? this.platform.clock.wallMs()) / 1000))
    const hmac = createHmac('sha256', given.secret ?? this.signingSecret).update(`v0:${at}:${body}`)
    const response = await fetch(
      `${this.platform.apiUrl}/hooks/chat/${given.connectionId ?? this.connectionId}`,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-slack-request-timestamp': at,
          'x-slack-signature': given.signature ?? `v0=${hmac.digest('hex')}`,
        },
        body,
      },
    )
    return { status: response.status, text: await response.text() }
  }

  async say(chatUser: string, text: string): Promise<ChatAnswer> {
    const { form } = this.slack.command(chatUser, text)
    const { status, text: body } = await this.send(form)
    return answerOf(status, body)
  }

  /** A click; its answer comes to the address of the request. */
  async click(
    chatUser: string,
    button: { action_id: string; value: string } | undefined,
  ): Promise<ChatAnswer> {
    if (!button) throw new Error('there is no such button')
    const { id, payload } = this.slack.click(chatUser, button)
    const { status } = await this.send({ payload: JSON.stringify(payload) })
    const answers = () => this.slack.responses.get(id) ?? []
    await until(() => answers().length > 0, 'the answer to the click')
    return answerOf(status, JSON.stringify(answers()[0]))
  }
}

function answerOf(status: number, text: string): ChatAnswer {
  const body = (text === '' ? {} : JSON.parse(text)) as Json
  return {
    status,
    text,
    said: String(body.text ?? ''),
    shared: body.response_type === 'in_channel',
    buttons: buttonsOf(body),
  }
}
