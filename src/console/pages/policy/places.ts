import { type Document, isNode, LineCounter, parseDocument, stringify } from 'yaml'
import type { AppError } from '../../../errors.ts'

export type Format = 'yaml' | 'json'

export function policyText(content: object, format: Format): string {
  return format === 'yaml' ? stringify(content, { lineWidth: 0 }) : `${JSON.stringify(content, null, 2)}\n`
}

/** A problem of the platform's answer, with the place that it names, such as `rules[2].on.operations[0]`. */
interface PlacedProblem {
  place: string
  problem: string
}

export function placedProblem(error: AppError | null): PlacedProblem | null {
  if (error?.kind !== 'invalid') return null
  const found = /(unknown key )?\b((?:mode|rules|freezes|budgets)(?:[\w.-]|\[\d+\])*)(?:: | )?([^;]*)/.exec(
    error.details ?? '',
  )
  if (!found) return null
  const [, unknown, place = '', problem = ''] = found
  return { place: place.replace(/\.$/, ''), problem: unknown ? 'There is no such field' : problem }
}

export interface Marked {
  line: number
  /** Characters of the text. */
  from: number
  to: number
  problem: string
}

/** The content of a text in YAML or JSON, which is YAML as well, or its first problem. */
export function readText(text: string): { content: Record<string, unknown> } | { problem: Marked } {
  const { document, lineAt } = opened(text)
  const [error] = document.errors
  if (error) {
    const [from, to] = error.pos
    return {
      problem: {
        line: lineAt(from),
        from,
        to,
        problem: error.message.split('\n')[0]!.replace(/ at line.*$/, ''),
      },
    }
  }
  const content = document.toJS()
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return { content }
  return {
    problem: { line: 1, from: 0, to: text.length, problem: 'A policy has mode, rules, freezes and budgets' },
  }
}

/** The line of the text that a problem is about: of its field, or of the nearest one around it. */
export function markedIn(text: string, { place, problem }: PlacedProblem): Marked | null {
  const { document, lineAt } = opened(text)
  const path = (place.match(/[^.[\]]+/g) ?? []).map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true)
    if (!isNode(node) || !node.range) continue
    const [from, to] = node.range
    return { line: lineAt(from), from, to, problem }
  }
  return null
}

function opened(text: string): { document: Document; lineAt: (offset: number) => number } {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter }) as unknown as Document
  return { document, lineAt: (offset) => lineCounter.linePos(offset).line }
}
