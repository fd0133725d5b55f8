/** Adjacent bounds differ by this factor, so the middle of a bucket is within 2% of every value in it. */
const growth = 1.02 / 0.98
const logGrowth = Math.log(growth)
/** Everything faster is counted as this, in milliseconds. */
const smallestMs = 0.01

/** Index of the bucket of a response time. Bucket `i` holds (0.01 × growth^(i-1), 0.01 × growth^i] milliseconds. */
export function bucketOf(ms: number): number {
  return ms <= smallestMs ? 0 : Math.ceil(Math.log(ms / smallestMs) / logGrowth)
}

/** The representative value of a bucket, in milliseconds; within 2% of every value counted in it. */
export function bucketValueMs(bucket: number): number {
  return bucket === 0 ? smallestMs : (smallestMs * 2 * growth ** bucket) / (growth + 1)
}

/** Counts by bucket, in the gateway protocol: keys are bucket indexes. */
export type BucketCounts = Record<string, number>

/** Adds `more` to `into` in place. */
export function addCounts(into: BucketCounts, more: BucketCounts): void {
  for (const [bucket, count] of Object.entries(more)) into[bucket] = (into[bucket] ?? 0) + count
}

/** Response times since it was last drained. */
export class Histogram {
  #counts = new Map<number, number>()

  add(ms: number): void {
    const bucket = bucketOf(ms)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
  }

  /** Returns the counts so far and resets them. */
  drain(): BucketCounts {
    const counts: BucketCounts = {}
    for (const [bucket, count] of this.#counts) counts[bucket] = count
    this.#counts = new Map()
    return counts
  }
}
