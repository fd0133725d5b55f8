/** The reflected polynomial of CRC-64/Jones in two halves, because BigInt is slow. */
const polynomial = { high: 0x95ac9329, low: 0xac4bc9b5 }

const high = new Uint32Array(256)
const low = new Uint32Array(256)
for (let byte = 0; byte < 256; byte++) {
  let h = 0
  let l = byte
  for (let bit = 0; bit < 8; bit++) {
    const odd = l & 1
    l = (l >>> 1) | (h << 31)
    h >>>= 1
    if (odd) {
      h ^= polynomial.high
      l ^= polynomial.low
    }
  }
  high[byte] = h >>> 0
  low[byte] = l >>> 0
}

/** The checksum that Redis appends to a dumped value: CRC-64/Jones, eight bytes, little-endian. */
export function crc64(bytes: Uint8Array): Buffer {
  let h = 0
  let l = 0
  for (const byte of bytes) {
    const at = (l ^ byte) & 255
    l = ((l >>> 8) | (h << 24)) ^ low[at]!
    h = (h >>> 8) ^ high[at]!
  }
  const sum = Buffer.alloc(8)
  sum.writeUInt32LE(l >>> 0, 0)
  sum.writeUInt32LE(h >>> 0, 4)
  return sum
}
