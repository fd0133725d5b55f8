import { z } from 'zod'
import { jsonOrNull } from '../../json-or-null.ts'
import type { Incoming } from '../chat.ts'

const id = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\w.-]+$/)
const address = z.string().max(2_048)

const command = z.object({
  team_id: id,
  user_id: id,
  user_name: z.string().max(200).default(''),
  text: z.string().max(4_000).default(''),
  response_url: address.optional(),
  trigger_id: z.string().min(1).max(200),
})

const person = {
  team: z.object({ id }),
  user: z.object({ id, name: z.string().max(200).optional(), username: z.string().max(200).optional() }),
  trigger_id: z.string().min(1).max(200),
}

const click = z.object({
  type: z.literal('block_actions'),
  ...person,
  response_url: address.optional(),
  actions: z
    .array(
      z.object({
        action_id: z.string().max(255),
        value: z.string().max(2_000).default(''),
        action_ts: z.string().max(64).default(''),
      }),
    )
    .min(1),
})

const form = z.object({
  type: z.literal('view_submission'),
  team: person.team,
  user: person.user,
  trigger_id: person.trigger_id.optional(),
  view: z.object({
    id: z.string().max(64),
    hash: z.string().max(200).default(''),
    callback_id: z.string().max(255),
    private_metadata: z.string().max(3_000).default(''),
    state: z.object({
      values: z.record(z.string(), z.record(z.string(), z.object({ value: z.string().nullish() }))),
    }),
  }),
})

/** The address for answers to a form, which Slack does not send again. */
const metadata = z.object({ value: z.string(), responseUrl: address.nullable() })

export function formMetadata(value: string, responseUrl: string | null): string {
  return JSON.stringify({ value, responseUrl } satisfies z.output<typeof metadata>)
}

/** A request of Slack, over a socket or HTTP. Null: of a kind that we do not use, or malformed. */
export function incomingOf(body: unknown): Incoming | null {
  const type = (body as { type?: unknown } | null)?.type
  if (type === 'block_actions') return clickOf(body)
  if (type === 'view_submission') return formOf(body)
  return type === undefined ? commandOf(body) : null
}

function commandOf(body: unknown): Incoming | null {
  const { data } = command.safeParse(body)
  if (!data) return null
  return {
    ...{ kind: 'command', text: data.text, action: '', value: '', triggerId: data.trigger_id },
    ...{ workspace: data.team_id, chatUser: data.user_id, chatName: data.user_name },
    ids: [`trigger ${data.trigger_id}`],
    responseUrl: data.response_url ?? null,
  }
}

function clickOf(body: unknown): Incoming | null {
  const { data } = click.safeParse(body)
  if (!data) return null
  const { action_id: action, value } = data.actions[0]!
  return {
    ...{ kind: 'click', text: '', action, value, triggerId: data.trigger_id },
    ...speakerOf(data),
    ids: [`trigger ${data.trigger_id}`],
    responseUrl: data.response_url ?? null,
  }
}

function formOf(body: unknown): Incoming | null {
  const { data } = form.safeParse(body)
  if (!data) return null
  const { view } = data
  const kept = metadata.safeParse(jsonOrNull(view.private_metadata)).data
  if (!kept) return null
  const [text = ''] = Object.values(view.state.values).flatMap((block) =>
    Object.values(block).map(({ value }) => value ?? ''),
  )
  return {
    ...{ kind: 'form', text: text.slice(0, 2_000), action: view.callback_id, value: kept.value },
    ...speakerOf(data),
    ids: [`view ${view.id} ${view.hash}`],
    responseUrl: kept.responseUrl,
    triggerId: null,
  }
}

function speakerOf({ team, user }: { team: { id: string }; user: z.output<typeof person.user> }) {
  return { workspace: team.id, chatUser: user.id, chatName: user.name ?? user.username ?? '' }
}
