/** The whole body; null if it has more than `bytes`, and then the rest is not read. */
export async function readUpTo(body: AsyncIterable<Buffer>, bytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > bytes) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
