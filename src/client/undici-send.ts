import { Agent, request } from 'undici'
import type { HttpSend } from './http-send.ts'

// A call may wait for the single writer of the store; more than a minute means a hang.
const agent = new Agent({
  connections: 128,
  headersTimeout: 60_000,
  bodyTimeout: 60_000,
  connect: { timeout: 5_000 },
  keepAliveTimeout: 4_000,
  maxResponseSize: 64 * 1024 * 1024,
})

/** Sends one request and reads the whole response. Follows no redirects. Throws undici's errors. */
export const sendWithUndici: HttpSend = async (url, { method, headers, body, signal }) => {
  const answer = await request(url, {
    method: method as 'GET',
    headers,
    body,
    signal,
    dispatcher: agent,
  })
  const text = await answer.body.text()
  return {
    status: answer.statusCode,
    header(name) {
      const value = answer.headers[name]
      return Array.isArray(value) ? value[0] : value
    },
    text,
  }
}
