const tokenLike = /ls[ue]_[0-9A-Za-z]{16,}/g

/** Hides anything that looks like one of our tokens, for text that goes to a log or back to a caller. */
export function maskTokens(text: string): string {
  return text.includes('ls') ? text.replace(tokenLike, '***') : text
}

/** A key or word somebody sent, fit to be repeated: short, printable, no token. */
export function shownWord(word: string): string {
  const short = word.length > 64 ? `${word.slice(0, 64)}…` : word
  return maskTokens(short.replace(/[^\x20-\x7e…]/g, '\ufffd'))
}
