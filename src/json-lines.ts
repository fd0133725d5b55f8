import { StringDecoder } from 'node:string_decoder'

/** Limit of one line, which may contain every route of an installation, in characters. */
const maxLine = 256 * 1024 * 1024

/** Splits a byte stream into lines and parses each as JSON. Throws on an invalid line. */
export class JsonLines<Message> {
  readonly #decoder = new StringDecoder('utf8')
  #pieces: string[] = []
  #length = 0

  read(piece: Buffer): Message[] {
    const lines = this.#decoder.write(piece).split('\n')
    const messages: Message[] = []
    for (let index = 0; index < lines.length - 1; index++) {
      this.#pieces.push(lines[index]!)
      const line = this.#pieces.join('')
      this.#pieces = []
      this.#length = 0
      if (line !== '') messages.push(JSON.parse(line) as Message)
    }
    const rest = lines.at(-1)!
    if (rest !== '') this.#pieces.push(rest)
    this.#length += rest.length
    if (this.#length > maxLine) throw new Error('line too long')
    return messages
  }
}

export function jsonLine(message: unknown): string {
  return `${JSON.stringify(message)}\n`
}
