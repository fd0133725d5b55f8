import { errorFromResponse } from '../../client/answer-error.ts'
import { AppError } from '../../errors.ts'
import { forgetAnswers, send } from './client.ts'
import { drafts } from './drafts.ts'

/** Notifies the other tabs of the browser of a sign-in. A channel does not receive its own messages. */
const signIns = new BroadcastChannel('longshore-sign-in')

/** Reads the data of the next page, and resolves to the id of the user. */
type ReadAhead = () => Promise<string | undefined>

/** Calls `listener` when another tab has signed in, so that the session works here as well. */
export function onOtherTabSignedIn(readAhead: ReadAhead, listener: () => void): () => void {
  const heard = () => void takeDrafts(readAhead).then(listener)
  signIns.addEventListener('message', heard)
  return () => signIns.removeEventListener('message', heard)
}

/** What a person presents: the code of a one-time or mailed link, a token, or the answer of a passkey. */
export type Presented = { code: string } | { token: string } | { mailCode: string } | { passkey: object }

/** Signs in; the browser keeps only the http-only cookie. Throws `AppError`. */
export async function signIn(by: Presented, readAhead?: ReadAhead): Promise<void> {
  // If the first answer was lost, the link is used up and refused again; but without a second try it would fail anyway.
  await sessionRequest('POST', '/console/session', by, { repeatable: true })
  signIns.postMessage('signed in')
  if (readAhead) await takeDrafts(readAhead)
}

/** Unsaved text belongs to the person who typed it; if the user cannot be determined, it is removed. */
async function takeDrafts(readAhead: ReadAhead): Promise<void> {
  drafts.belongTo((await readAhead()) ?? 'unknown')
}

/** Ends this session, or all sessions and open sign-in links of the user. */
export async function signOut(everywhere: boolean): Promise<void> {
  await sessionRequest('DELETE', everywhere ? '/console/sessions' : '/console/session', null)
  forgetAnswers()
  drafts.clear()
}

/** A request of the console that is no operation of the contract. Throws `AppError`. */
export async function sessionRequest(
  method: string,
  path: string,
  body: object | null,
  options: { repeatable?: boolean } = {},
): Promise<unknown> {
  const answer = await send(location.origin + path, {
    method,
    headers: body ? { 'content-type': 'application/json' } : {},
    body: body ? JSON.stringify(body) : null,
    signal: undefined,
    ...options,
  }).catch((cause) => {
    throw new AppError('unavailable', 'The platform cannot be reached', {
      details: 'Try again in a moment.',
      cause,
    })
  })
  const value = JSON.parse(answer.text)
  if (answer.status !== 200) throw errorFromResponse(answer, value, location.origin)
  return value
}
