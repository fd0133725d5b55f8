import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operations } from '../../src/contract/index.ts'
import { apiPrefix, type Operation } from '../../src/contract/operation.ts'
import { AppError, httpStatusOf } from '../../src/errors.ts'
import { fakeOperations } from './operations.ts'
import { FakeState } from './state.ts'

export interface FakeBackend {
  url: string
  state: FakeState
  close(): Promise<void>
}

export const fakeToken = 'lsu_fake'

/** An HTTP server made from the contract rows over a small state: the platform as the client sees it. */
export async function startFakeBackend(port = 0): Promise<FakeBackend> {
  const state = new FakeState()
  const server = createServer((req, res) => void answer(state, req, res))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(state: FakeState, req: IncomingMessage, res: ServerResponse): Promise<void> {
  try {
    const row = rowOf(req)
    const token = req.headers.authorization
    if (token === undefined || !/^lsu_[\w-]+$/.test(token)) {
      throw new AppError('unauthenticated', 'User not authenticated', { details: 'Send a token.' })
    }
    const input = await inputOf(row, req)
    state.calls.push({
      id: row.id,
      input,
      token,
      surface: req.headers['longshore-surface'] as string | undefined,
      idempotencyKey: req.headers['idempotency-key'] as string | undefined,
      dryRun: req.headers['dry-run'] === 'true',
    })
    await state.held.get(row.id)
    const failure = state.failing.get(row.id)
    if (failure !== undefined) throw failure
    if (req.headers['dry-run'] === 'true') {
      send(res, 200, { dryRun: true, changes: [], effects: state.effects })
      return
    }
    const body = await fakeOperations[row.id]!(state, input, token)
    // Responses of the fake must match the row, or tests prove nothing.
    send(res, 200, row.output.parse(body))
  } catch (error) {
    sendError(res, error)
  }
}

function rowOf(req: IncomingMessage): Operation {
  const { pathname } = new URL(req.url ?? '/', 'http://fake')
  const row = operations.find((one) => one.method === req.method && apiPrefix + one.path === pathname)
  if (row === undefined) throw new AppError('not-found', 'Not found')
  return row
}

async function inputOf(row: Operation, req: IncomingMessage): Promise<Record<string, unknown>> {
  const inQuery = row.method === 'GET' || row.method === 'DELETE'
  const raw = inQuery ? queryOf(row, req) : JSON.parse(await textOf(req))
  const parsed = row.input.safeParse(raw)
  if (parsed.success) return parsed.data
  const details = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  throw new AppError('invalid', 'Invalid request', { details })
}

function queryOf(row: Operation, req: IncomingMessage): Record<string, unknown> {
  const { searchParams } = new URL(req.url ?? '/', 'http://fake')
  const values = Object.fromEntries<unknown>(searchParams)
  for (const [name, value] of Object.entries(values)) {
    const asJson = value === 'true' || value === 'false' || /^-?\d+$/.test(String(value))
    const parsed = asJson ? JSON.parse(String(value)) : value
    if (row.input.safeParse({ ...values, [name]: parsed }).success) values[name] = parsed
    else if (asJson && name !== 'envName') values[name] = parsed
  }
  return values
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += chunk
  return text
}

function send(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

function sendError(res: ServerResponse, error: unknown): void {
  if (!(error instanceof AppError)) {
    send(res, 500, { error: 'Something went wrong on our side', details: String(error) })
    return
  }
  send(
    res,
    httpStatusOf[error.kind],
    { error: error.message, details: error.details },
    {
      ...(error.rule === undefined ? {} : { 'longshore-rule': error.rule }),
      ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
    },
  )
}

/** Resolves when no status was read for `pauseMs`, which means that the wait of a call has ended. */
export async function untilReadsStop({ state }: FakeBackend, pauseMs = 200): Promise<void> {
  const reads = () => state.countOf('get-app-env-status')
  for (let seen = -1; seen !== reads(); ) {
    seen = reads()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
