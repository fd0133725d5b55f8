import { instructionsOf } from './readings.ts'

/** An instruction that supports here-documents opens one, and a later line is its end marker. */
export function hasHereDocument(dockerfile: string): boolean {
  const lines = new Set(dockerfile.split(/\r?\n/).map((line) => line.trim()))
  return instructionsOf(dockerfile).some((instruction) => {
    if (!/^(?:ONBUILD\s+)*(?:RUN|COPY|ADD)\s/i.test(instruction)) return false
    return [...instruction.matchAll(/<<-?\s*(?:"([^"]+)"|'([^']+)'|([^\s"'<]+))/g)].some(([, ...words]) =>
      lines.has(words.find((word) => word !== undefined)!),
    )
  })
}
