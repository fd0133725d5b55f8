const tokenLike = /ls[uearc]_[0-9A-Za-z]{16,}/g

/** Masks text that looks like one of our tokens, for logs and responses. */
export function maskTokens(text: string): string {
  return text.includes('ls') ? text.replace(tokenLike, '***') : text
}

/** A caller's word in a form that is safe to repeat: short, printable, without tokens. */
export function shownWord(word: string): string {
  const short = word.length > 64 ? `${word.slice(0, 64)}…` : word
  return maskTokens(short.replace(/[^\x20-\x7e…]/g, '\ufffd'))
}
