import type { Evidence, Finding } from '../../contract/diagnosis.ts'

/** Tokens of one finding as a model reads it (docs/interface.md#diagnosis). */
const mostTokens = 290
/** Below this length a quote has no useful information. */
const shortestQuote = 30

/** Cuts the quotes of a finding until it fits the budget of tokens. The platform's own text stays. */
export function withinBudget(finding: Finding): Finding {
  let { evidence } = finding
  while (tokensOf(JSON.stringify({ ...finding, evidence })) > mostTokens) {
    const longest = longestOf(evidence.filter(isQuote)) || (evidence.length === 1 ? longestOf(evidence) : 0)
    if (longest > 0) evidence = evidence.map((one) => (one.text?.length === longest ? shorter(one) : one))
    else if (evidence.length > 1) evidence = evidence.slice(0, -1)
    else break
  }
  return { ...finding, evidence }
}

/** Text of a program or a client. */
function isQuote({ source }: Evidence): boolean {
  return source === 'log' || source === 'build-log' || source === 'request'
}

/** Length of the longest text that can still be cut; 0 if there is none. */
function longestOf(evidence: readonly Evidence[]): number {
  const longest = Math.max(0, ...evidence.map(({ text = '' }) => text.length))
  return longest > shortestQuote ? longest : 0
}

function shorter(one: Evidence): Evidence {
  const text = one.text!.replace(/…$/, '')
  return { ...one, text: `${text.slice(0, Math.max(shortestQuote - 1, Math.floor(text.length * 0.8)))}…` }
}

/** Keys, hashes and encoded bytes: nearly a token for each character. */
const encoded = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=]{24,}/g
const pieces = /[A-Za-z]+|\d+|[^\sA-Za-z\d]+/g

/** About as many tokens as a text has for a model, rather more than fewer. */
export function tokensOf(text: string): number {
  let tokens = 0
  const rest = text.replace(encoded, (run) => {
    tokens += run.length
    return ' '
  })
  for (const [piece] of rest.matchAll(pieces)) tokens += tokensOfPiece(piece)
  return tokens
}

function tokensOfPiece(piece: string): number {
  if (/^\d/.test(piece)) return Math.ceil(piece.length / 3)
  if (/^[A-Za-z]/.test(piece)) return Math.ceil(piece.length / (/[aeiou]/i.test(piece) ? 8 : 3))
  return /^[\x21-\x7e]+$/.test(piece) ? Math.ceil(piece.length / 3) : piece.length
}
