import { ansi, hidden } from '../contract/hidden-characters.ts'
import { slackText } from '../slack-text.ts'

/** Text of anybody as text of a message: without mentions, links and invisible characters. */
export function escaped(text: string, most = 2_000): string {
  const plain = text.replace(ansi, '').replace(hidden, ' ')
  const cut = plain.length > most ? `${plain.slice(0, most - 1)}…` : plain
  return slackText(cut)
}

/** Output of programs, as it is, in a block of its own. */
export function codeBlock(lines: readonly string[], most = 2_500): string {
  let text = ''
  // The newest lines are last.
  for (const line of [...lines].reverse()) {
    const plain = line.replace(ansi, '').replace(hidden, ' ').replaceAll('`', "'").slice(0, 400)
    const safe = slackText(plain)
    if (text.length + safe.length > most) break
    text = `${safe}\n${text}`
  }
  return `\`\`\`\n${text}\`\`\``
}
