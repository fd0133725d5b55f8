/** Shorter values occur in too many ordinary words to be masked. */
export const shortestMasked = 6

/** Line lengths at which common tools wrap base64 text. */
const wrapLengths = [76, 64]

export interface SecretForm {
  text: string
  /** Base64: the next character may still contain bits of the secret, and padding belongs to it. */
  isBase64: boolean
}

/** The lines of a value that has more than one. */
export function linesOf(value: string): string[] {
  return value.includes('\n') ? value.split(/\r?\n/) : []
}

/**
 * The texts under which a secret value may appear in a line of output: as it is, each of its lines, as a JSON
 * string (in another one too), URL-encoded, and in base64 at any position of a longer base64 text. Each has
 * at least `shortest` characters.
 */
export function secretForms(value: string, lines: readonly string[], shortest: number): SecretForm[] {
  const plain = new Set([value, ...lines, ...passwordWithin(value)].map((text) => text.trim()))
  const written = [...plain].flatMap((text) => [text, ...jsonForms(text), ...urlForms(text)])
  const forms = [
    ...written.map((text) => ({ text, isBase64: false })),
    ...(value.trim().length < shortest ? [] : base64Forms(value.trim())).map((text) => ({
      text,
      isBase64: true,
    })),
  ]
  return forms.filter(({ text }) => text.length >= shortest)
}

/** The form in JSON, also inside a text that is JSON itself, as many log lines have it. */
function jsonForms(text: string): string[] {
  const escaped = JSON.stringify(text).slice(1, -1)
  return escaped === text ? [] : [escaped, JSON.stringify(escaped).slice(1, -1)]
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

/**
 * The forms of encodeURIComponent, RFC 3986 and HTML forms, with escapes in either case. Converts the whole text at once:
 * character by character, 64 KiB of secrets would block the event loop for 100 ms.
 */
function urlForms(text: string): string[] {
  if (/^[A-Za-z0-9_.~-]*$/.test(text)) return []
  const component = encodeURIComponent(Buffer.from(text).toString())
  const strict = component.replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const forms = [component, strict].flatMap((form) => [form, form.replaceAll('%20', '+')])
  return [...new Set(forms)].flatMap((form) => [
    form,
    form.replace(/%[0-9A-F]{2}/g, (one) => one.toLowerCase()),
  ])
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
