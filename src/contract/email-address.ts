/**
 * The form in which addresses are stored and compared: ASCII letters small, accents composed. Other letters keep their case:
 * folding them makes two different addresses one. ASCII first, because a Kelvin sign composes to a capital K.
 */
export function normalEmail(text: string): string {
  return text
    .trim()
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .normalize('NFC')
}

/** Letters of other scripts that look like the ASCII letter in front of them. */
const lookAlikes = [
  'aаɑα',
  'bЬь',
  'cсϲ',
  'dԁ',
  'eеҽ',
  'gɡց',
  'hһհ',
  'iіıιɩ',
  'jјϳ',
  'kкκ',
  'lӏ',
  'mм',
  'nոηп',
  'oоοօ',
  'pрρ',
  'qԛգ',
  'sѕ',
  'tт',
  'uսυ',
  'vѵν',
  'wԝω',
  'xхχ',
  'yуγү',
  'zᴢ',
]
const asciiOf = new Map(
  lookAlikes.flatMap(([ascii, ...others]) => others.map((one) => [one, ascii!] as const)),
)

/** Two addresses with the same text here look alike to people. The address itself if it is ASCII. */
export function lookOfEmail(email: string): string {
  const plain = email.normalize('NFKC').toLowerCase()
  return [...plain].map((letter) => asciiOf.get(letter) ?? letter).join('')
}
