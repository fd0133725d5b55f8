/** Files as a gzipped tar archive, made in the browser. Names must be ASCII and at most 100 characters. */
export async function packFiles(files: Readonly<Record<string, string>>): Promise<Blob> {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const content = new TextEncoder().encode(text)
    return [header(name, content.length), content, new Uint8Array(-content.length & (block - 1))]
  })
  const archive = new Blob([...blocks, new Uint8Array(2 * block)])
  return new Response(archive.stream().pipeThrough(new CompressionStream('gzip'))).blob()
}

const block = 512

/** One POSIX ustar header: fields at fixed places, numbers in octal, a checksum over all of it. */
function header(name: string, bytes: number): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(block)
  const put = (text: string, at: number) => new TextEncoder().encodeInto(text, head.subarray(at))
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  put(name, 0)
  put(octal(0o644, 7), 100)
  put(octal(0, 7), 108)
  put(octal(0, 7), 116)
  put(octal(bytes, 11), 124)
  put(octal(0, 11), 136)
  put('        ', 148)
  put('0', 156)
  put('ustar\0' + '00', 257)
  const sum = head.reduce((total, byte) => total + byte, 0)
  put(`${octal(sum, 6)}\0 `, 148)
  return head
}
