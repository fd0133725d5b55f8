import { StringDecoder } from 'node:string_decoder'

/** One line may hold every route of an installation, but no more than this many characters. */
const maxLine = 256 * 1024 * 1024

/** Cuts a byte stream into lines and reads each as JSON. Throws on a line that is none. */
export class JsonLines<Message> {
  readonly #decoder = new StringDecoder('utf8')
  #parts: string[] = []
  #length = 0

  read(piece: Buffer): Message[] {
    const lines = this.#decoder.write(piece).split('\n')
    const messages: Message[] = []
    for (let index = 0; index < lines.length - 1; index++) {
      this.#parts.push(lines[index]!)
      const line = this.#parts.join('')
      this.#parts = []
      this.#length = 0
      if (line !== '') messages.push(JSON.parse(line) as Message)
    }
    const rest = lines.at(-1)!
    if (rest !== '') this.#parts.push(rest)
    this.#length += rest.length
    if (this.#length > maxLine) throw new Error('line too long')
    return messages
  }
}

export function jsonLine(message: unknown): string {
  return `${JSON.stringify(message)}\n`
}
