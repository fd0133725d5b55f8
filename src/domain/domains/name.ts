import { isIP } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'
import { AppError } from '../../errors.ts'

/** Names that the platform serves itself: each with everything below it. */
export interface OwnNames {
  /** Such as the domain of apps. */
  domains: readonly string[]
  /** The host of the public URL; others may be below it. */
  host: string | null
}

const localSuffixes = ['localhost', 'local', 'internal', 'arpa', 'onion', 'invalid']
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * The name in ASCII and lower case, without a final dot. Throws `invalid` if it is not a host name, or mixes scripts that
 * look alike.
 */
export function normalDomain(given: string): string {
  const bare = given.normalize('NFC').replace(/[.。．｡]$/, '')
  const [wildcard, name] = bare.startsWith('*.') ? ['*.', bare.slice(2)] : ['', bare]
  if (/[\s/:?#@[\]%\\*]/.test(name)) throw notAName()
  const ascii = domainToASCII(name)
  const labels = ascii.split('.')
  if (ascii.length > 253 - wildcard.length || labels.length < 2) throw notAName()
  if (isIP(ascii) || !labels.every((one) => label.test(one)) || /^\d+$/.test(labels.at(-1)!)) throw notAName()
  const mixed = domainToUnicode(ascii)
    .split('.')
    .find((one) => !isOneScript(one))
  if (mixed !== undefined) {
    throw new AppError('invalid', 'The domain mixes scripts whose letters look alike', {
      details: `In ASCII it is ${wildcard}${ascii}. Check each letter, and register a name in one script.`,
    })
  }
  return wildcard + ascii
}

/** Throws `invalid` for names that do not belong to a tenant: public suffixes, and those of the platform. */
export async function refuseForeignNames(domain: string, own: OwnNames): Promise<void> {
  const name = domain.replace(/^\*\./, '')
  const isBelow = (suffix: string) => name === suffix || name.endsWith(`.${suffix}`)
  if (own.domains.some(isBelow) || name === own.host || localSuffixes.some(isBelow)) {
    throw new AppError('invalid', `${domain} belongs to the platform`, {
      details: 'Its names are given automatically; add a domain that you own.',
    })
  }
  // Loaded when needed: it holds the whole list of public suffixes.
  const { default: tldts } = await import('tldts')
  if (tldts.getPublicSuffix(name, { allowPrivateDomains: true }) === name) {
    throw new AppError('invalid', `${name} is a public suffix`, {
      details: 'It has names of many owners below it. Add a domain that is registered below it.',
    })
  }
}

const scripts = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Devanagari', 'Thai'] as const
const alone = [
  ...scripts.map(
    (script) => new RegExp(`^[\\p{Script=${script}}\\p{Script=Common}\\p{Script=Inherited}]*$`, 'u'),
  ),
  // East Asian writing mixes scripts, and none of them looks like Latin (UTS 39, highly restrictive).
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Common}\p{Script=Inherited}]*$/u,
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Bopomofo}\p{Script=Common}\p{Script=Inherited}]*$/u,
  /^[\p{Script=Latin}\p{Script=Han}\p{Script=Hangul}\p{Script=Common}\p{Script=Inherited}]*$/u,
]
const listed = new RegExp(`[${scripts.map((script) => `\\p{Script=${script}}`).join('')}]`, 'u')

/** A label in a script that is not listed has to be without a letter of those that are. */
function isOneScript(text: string): boolean {
  return alone.some((form) => form.test(text)) || !listed.test(text)
}

function notAName(): AppError {
  return new AppError('invalid', 'This is not a domain name', {
    details: 'Give a name such as shop.example.com, without scheme, port and path.',
  })
}
