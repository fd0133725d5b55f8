import { z } from 'zod'
import type { ToolInput } from './define-tool.ts'

/** Inputs of a tool whose answer is a list that is shown in pages. */
export const pageFields = {
  search: z.string().max(100).optional(),
  offset: z.number().int().min(0).default(0),
}

/** Characters of a page, about 1,600 tokens of ids and names: an installation of usual size fits in one. */
const pageLength = 4_500

/** The items of a list whose names hold what is searched for. */
export function found<Item>(items: readonly Item[], { search }: ToolInput): Item[] {
  if (typeof search !== 'string') return [...items]
  const wanted = search.toLowerCase()
  return items.filter((item) => {
    const { name, slug, cliEnvName } = item as Record<string, unknown>
    return [name, slug, cliEnvName].some((text) =>
      String(text ?? '')
        .toLowerCase()
        .includes(wanted),
    )
  })
}

/** One page of a list, and a sentence when there is more. */
export function pageOf<Item>(
  items: readonly Item[],
  { offset }: ToolInput,
): { items: Item[]; note: string | null } {
  const from = Number(offset)
  const shown = fitting(items.slice(from))
  if (shown.length === items.length) return { items: shown, note: null }
  const end = from + shown.length
  const more = end < items.length ? `; offset ${end} shows more` : ''
  return {
    items: shown,
    note: `Shown are ${shown.length === 0 ? 'none' : `${from + 1} to ${end}`} of ${items.length}${more}; search narrows.`,
  }
}

function fitting<Item>(items: readonly Item[]): Item[] {
  let length = 0
  const beyond = items.findIndex((item) => {
    length += JSON.stringify(item).length
    return length > pageLength
  })
  return items.slice(0, beyond === -1 ? items.length : Math.max(1, beyond))
}

/** What is cut off must be more than the words that say so. */
const leastCut = 30

/** A text cut at `most` characters, saying how much is missing. Never cuts a character in half. */
export function cut(text: string, most: number): string {
  if (text.length < most + leastCut) return text
  const kept = text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}
