import { type BucketCounts, bucketValueMs } from './histogram.ts'

/** More than the bucket of one day; longer times are counted in the last one. */
const buckets = 1024

/** Response-time counts by bucket of the gateway's histogram; can be summed without loss. */
export class LatencyCounts {
  readonly #counts = new Float64Array(buckets)
  #total = 0

  get total(): number {
    return this.#total
  }

  add(bucket: number, count: number): void {
    this.#counts[Math.min(bucket, buckets - 1)]! += count
    this.#total += count
  }

  addCounts(counts: BucketCounts): void {
    for (const [bucket, count] of Object.entries(counts)) this.add(Number(bucket), count)
  }

  /** Seconds within which a share `quantile` (0 to 1) of requests was answered; 0 if empty. */
  quantileSeconds(quantile: number): number {
    if (this.#total === 0) return 0
    let seen = 0
    let highest = 0
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const count = this.#counts[bucket]!
      if (count === 0) continue
      seen += count
      highest = bucket
      if (seen >= quantile * this.#total) break
    }
    return bucketValueMs(highest) / 1_000
  }

  /** Distance to the previous bucket, then the count, as variable-length numbers: about two bytes per bucket. */
  encode(): Uint8Array {
    const bytes: number[] = []
    let before = 0
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const count = this.#counts[bucket]!
      if (count === 0) continue
      writeNumber(bytes, bucket - before)
      writeNumber(bytes, count)
      before = bucket
    }
    return Uint8Array.from(bytes)
  }

  /** Adds counts encoded by `encode` in bytes `from` to `to`. */
  addEncoded(bytes: Uint8Array, from: number, to: number): void {
    let bucket = 0
    let at = from
    const read = () => {
      let value = 0
      let factor = 1
      for (;;) {
        const byte = bytes[at++]!
        value += (byte & 0x7f) * factor
        if (byte < 0x80 || at >= to) return value
        factor *= 128
      }
    }
    while (at < to) {
      bucket += read()
      if (at < to) this.add(bucket, read())
    }
  }
}

function writeNumber(bytes: number[], value: number): void {
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 128) | 0x80)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
