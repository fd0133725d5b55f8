import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { ToolInput } from './define-tool.ts'

/** Inputs of a tool whose result is a list shown in pages. */
export const pageFields = {
  search: z.string().max(100).optional(),
  offset: z.number().int().min(0).default(0),
}

/** Characters of a page, about 1,600 tokens of ids and names: enough for a typical installation. */
const pageLength = 4_500

/** The items whose names contain the search text. */
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
    note: `Showing ${shown.length === 0 ? 'none' : `${from + 1} to ${end}`} of ${items.length}${more}; search narrows the list.`,
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

/** The cut part must be longer than the text that replaces it. */
const leastCut = 30

const cutEnd = /… \(\d+ more characters\)$/

/** Throws `invalid` for an input with a text that a read has cut: written back, it would replace the whole one. */
export function refuseCutTexts(input: unknown, path: readonly string[] = []): void {
  if (typeof input === 'string' && cutEnd.test(input)) {
    throw new AppError('invalid', 'A text was cut by a read', {
      details: `${path.join('.')} ends with the number of missing characters. Read it whole with maxTokens, or leave it out.`,
    })
  }
  if (typeof input !== 'object' || input === null) return
  for (const [key, value] of Object.entries(input)) refuseCutTexts(value, [...path, key.slice(0, 64)])
}

/** Cuts a text at `most` characters and appends how many are missing. Never splits a character. */
export function cut(text: string, most: number): string {
  if (text.length < most + leastCut) return text
  const kept = text.slice(0, most).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}
