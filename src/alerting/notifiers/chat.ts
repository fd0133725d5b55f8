import type { Receiver } from '../../domain/alerts/contact-point.ts'
import {
  type Notification,
  type NotificationEnvelope,
  notificationFacts,
  notificationTitle,
} from '../../domain/alerts/notification.ts'
import { slackText } from '../../slack-text.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'

type ChatConfig = Extract<Receiver, { type: 'chat' }>['config']

export async function sendChat(
  outbound: Outbound,
  config: ChatConfig,
  { notification }: NotificationEnvelope,
): Promise<NotifyResult> {
  return outbound({
    url: config.webhookUrl,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(config, notification)),
  })
}

/** The body of a Slack-compatible incoming webhook. `text` says all of it, because many receivers show only that. */
function chatBody(config: Pick<ChatConfig, 'channel' | 'mentionUsers'>, notification: Notification) {
  const title = slackText(notificationTitle(notification))
  const mentions = notification.event === 'firing' ? (config.mentionUsers ?? []).map(mention) : []
  const facts = [slackText(notificationFacts(notification)), slackText(notification.description)].filter(
    (text) => text !== '',
  )
  const since = slackText(`Since ${notification.startedAt} · ${notification.region}`)
  const link = notification.url === null ? [] : [slackText(notification.url)]
  return {
    ...(config.channel ? { channel: config.channel } : {}),
    text: [[title, ...mentions].join(' '), ...facts, since, ...link].join('\n'),
    blocks: [
      section(`*${title}*${mentions.length > 0 ? `\n${mentions.join(' ')}` : ''}`),
      section(facts.join('\n')),
      {
        type: 'context',
        elements: [since, ...link].map((text) => ({ type: 'mrkdwn', text })),
      },
    ],
  }
}

function section(text: string) {
  return { type: 'section', text: { type: 'mrkdwn', text: text.slice(0, 3000) } }
}

/**
 * `U012AB3CD` is a member’s id (names have no capitals), `here`, `channel` and `everyone` are groups; anything else
 * is a name.
 */
function mention(user: string): string {
  const name = user.replace(/^@/, '')
  if (/^(here|channel|everyone)$/.test(name)) return `<!${name}>`
  return /^[UW][A-Z0-9]{2,20}$/.test(name) ? `<@${name}>` : `@${slackText(name)}`
}
