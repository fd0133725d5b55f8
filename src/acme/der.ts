/** The parts of DER (X.690) that certificate requests need. */

export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

export const sequence = (...parts: readonly Buffer[]) => tagged(0x30, ...parts)
export const setOf = (...parts: readonly Buffer[]) => tagged(0x31, ...parts)
export const octets = (...parts: readonly Buffer[]) => tagged(0x04, ...parts)
export const utf8 = (text: string) => tagged(0x0c, Buffer.from(text))
export const bits = (content: Buffer) => tagged(0x03, Buffer.from([0]), content)
/** A positive number whose first bit is not set. */
export const integer = (content: Buffer) => tagged(0x02, content)
export const yes = Buffer.from([0x01, 0x01, 0xff])

export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

export function utcTime(ms: number): Buffer {
  return tagged(
    0x17,
    Buffer.from(
      `${new Date(ms)
        .toISOString()
        .replace(/[-:T]|\.\d+/g, '')
        .slice(2)}`,
    ),
  )
}

export interface Element {
  tag: number
  content: Buffer
}

/** The elements in the content of another one. */
export function elementsOf(content: Buffer): Element[] {
  const elements: Element[] = []
  for (let at = 0; at < content.length; ) {
    const tag = content.readUInt8(at)
    const short = content.readUInt8(at + 1)
    const extra = short < 0x80 ? 0 : short & 0x7f
    const length = extra === 0 ? short : content.readUIntBE(at + 2, extra)
    const start = at + 2 + extra
    elements.push({ tag, content: content.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff])
}

function base128(value: number): number[] {
  const digits = [value & 0x7f]
  for (let rest = value >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80)
  return digits
}
