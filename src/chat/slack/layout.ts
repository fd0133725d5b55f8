import type { ChatForm, ChatReply, ChatText } from '../chat.ts'

/** Slack refuses longer texts of a section. */
const mostOfSection = 3_000

/** A message in blocks; `text` says the same for receivers that show no blocks. */
export function laidOut({ title, lines, buttons = [] }: ChatText) {
  const text = [title, ...lines].join('\n')
  return {
    text: text.slice(0, 4_000),
    blocks: [
      section(`*${title}*`),
      ...(lines.length > 0 ? [section(lines.join('\n'))] : []),
      ...(buttons.length > 0
        ? [
            {
              type: 'actions',
              elements: buttons.map(({ label, action, value, style }) => ({
                type: 'button',
                text: { type: 'plain_text', text: label },
                action_id: action,
                value,
                ...(style ? { style } : {}),
              })),
            },
          ]
        : []),
    ],
    unfurl_links: false,
  }
}

/** An answer to a command or a click. */
export function laidOutReply({ shared = false, ...message }: ChatReply) {
  return {
    ...laidOut(message),
    response_type: shared ? 'in_channel' : 'ephemeral',
    replace_original: false,
  }
}

export function laidOutForm({ title, label, action }: ChatForm, metadata: string) {
  return {
    type: 'modal',
    callback_id: action,
    private_metadata: metadata,
    title: { type: 'plain_text', text: title.slice(0, 24) },
    submit: { type: 'plain_text', text: title.slice(0, 24) },
    blocks: [
      {
        type: 'input',
        block_id: 'text',
        label: { type: 'plain_text', text: label },
        element: { type: 'plain_text_input', action_id: 'text', multiline: true, max_length: 2_000 },
      },
    ],
  }
}

function section(text: string) {
  return { type: 'section', text: { type: 'mrkdwn', text: text.slice(0, mostOfSection) } }
}
