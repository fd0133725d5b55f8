import { lostEdges, plainValue } from './plain-text.ts'

/** Shorter values occur in too many ordinary words to be masked. */
export const shortestMasked = 6

/** Line lengths at which common tools wrap base64 text. */
const wrapLengths = [76, 64]

export interface SecretForm {
  text: string
  /** Quotes at its ends that its plain text has lost; absent: none. */
  lost?: { start: boolean; end: boolean }
  /** Base64: the next character may still contain bits of the secret, and padding belongs to it. */
  isBase64: boolean
}

/** The lines of a value that has more than one. */
export function linesOf(value: string): string[] {
  return value.includes('\n') ? value.split(/\r?\n/) : []
}

/**
 * The texts to look for: the value, each of its lines, and base64 at any position of a longer base64 text; of each also
 * the plain text, which is looked for where a line has escapes or quotes. Each has at least `shortest` characters.
 */
export function secretForms(value: string, lines: readonly string[], shortest: number): SecretForm[] {
  const clear = new Set([value, ...lines, ...passwordWithin(value)].map((text) => text.trim()))
  const forms = [...clear].flatMap((text): SecretForm[] => {
    const plain = plainValue(text)
    const same = { text, isBase64: false }
    if (plain === text) return [same]
    if (plain.length >= shortest) return [same, { text: plain, isBase64: false, lost: lostEdges(text) }]
    // Without its quotes it is too short to look for.
    return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(Buffer.from(text).toString())].map(
      (written) => ({ text: written, isBase64: false }),
    )
  })
  const encoded = value.trim().length < shortest ? [] : base64Forms(value.trim())
  forms.push(...encoded.map((text) => ({ text, isBase64: true })))
  return forms.filter(({ text }) => text.length >= shortest)
}

/** Programs print the password of a connection URL by itself. */
function passwordWithin(value: string): string[] {
  const encoded = /^[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/i.exec(value)?.[1]
  if (encoded === undefined) return []
  try {
    return [encoded, decodeURIComponent(encoded)]
  } catch {
    return [encoded]
  }
}

/** The common part of all base64 texts whose content includes the value, whatever precedes and follows it. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value)
  const forms = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const fullyOurs = Math.floor(((before + bytes.length) * 8) / 6)
    return encoded.slice(Math.ceil((before * 8) / 6), fullyOurs)
  })
  const [atStart = ''] = forms
  const wrapped = wrapLengths
    .filter((length) => atStart.length > length)
    .flatMap((length) => atStart.match(new RegExp(`.{1,${length}}`, 'g')) ?? [])
  return [...forms, ...wrapped].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}
