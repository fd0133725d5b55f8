import { z } from 'zod'
import { redirectUriProblem } from '../domain/access/oauth-client.ts'
import { OAuthError } from './oauth-error.ts'

const mostRedirectUris = 10

const redirectUri = z.string().superRefine((text, context) => {
  const problem = redirectUriProblem(text)
  if (problem !== null) context.addIssue(`${JSON.stringify(text.slice(0, 100))} ${problem}`)
})

/**
 * Self-description of a client, in its identity document or at its registration (RFC 7591). Logos, texts and keys are
 * ignored: the consent page loads nothing of a client.
 */
const metadata = z.object({
  client_id: z.string().optional(),
  client_name: z.string().max(2_000).optional(),
  redirect_uris: z.array(redirectUri).min(1).max(mostRedirectUris),
  token_endpoint_auth_method: z.string().optional(),
  client_secret: z.never({ error: 'must be left out: clients have no secret' }).optional(),
})

type ClientMetadata = z.output<typeof metadata>

/** Throws `invalid_redirect_uri` or `invalid_client_metadata`. */
export function readClientMetadata(value: unknown): ClientMetadata {
  const parsed = metadata.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'the document'}: ${issue.message}`,
  )
  const isRedirect = parsed.error.issues.every(({ path }) => path[0] === 'redirect_uris')
  throw new OAuthError(isRedirect ? 'invalid_redirect_uri' : 'invalid_client_metadata', issues.join('; '))
}

/** A name for people, without characters that hide or reorder text; at most 80 characters. */
export function shownClientName(name: string | undefined, otherwise: string): string {
  const plain = (name ?? '')
    .normalize('NFKC')
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
  return plain === '' ? otherwise : [...plain].slice(0, 80).join('')
}
