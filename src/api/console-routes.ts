import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import type { BodyLimits } from './json-body.ts'
import { addSignInRoutes, consolePath, type SignInOptions } from './sign-in-routes.ts'

export interface ConsoleOptions extends SignInOptions {
  /** Output folder of the build: index.html, assets/ and assets.json. */
  dir: string
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** The security headers of every page, with its content security policy. */
export function pageHeaders(contentSecurityPolicy: string): Readonly<Record<string, string>> {
  return {
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
}
const consoleHeaders = pageHeaders(policy)

/** Adds the console's pages and files, and its routes for signing in and out. */
export function addConsoleRoutes(
  app: FastifyInstance,
  options: ConsoleOptions,
  runner: OperationRunner,
  limits: BodyLimits,
): void {
  addFiles(app, options.dir)
  addSignInRoutes(app, options, runner, limits)
}

interface Asset {
  type: string
  /** Encodings with a precompressed copy of the file. */
  encodings: string[]
}

function addFiles(app: FastifyInstance, dir: string): void {
  const quiet = { exposeHeadRoute: true, config: { quiet: true } }
  // The same shell for every page, so that its response does not reveal which objects exist (M2).
  const shell = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply
      .headers(consoleHeaders)
      .header('content-type', 'text/html; charset=utf-8')
      .send(await readFile(path.join(dir, 'index.html')))
  app.get('/console', quiet, (_request, reply) => reply.redirect(consolePath))
  app.get('/console/*', quiet, shell)
  let listed: Promise<Record<string, Asset>> | undefined
  app.get<{ Params: { name: string } }>('/console/assets/:name', quiet, async (request, reply) => {
    listed ??= readFile(path.join(dir, 'assets.json'), 'utf8').then((text) => JSON.parse(text))
    const assets = await listed.catch((error) => {
      // A read that failed once, such as for lack of open files, must not fail forever.
      listed = undefined
      throw error
    })
    const { name } = request.params
    const asset = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (asset === undefined) throw new AppError('not-found', 'Not found')
    const accepted = String(request.headers['accept-encoding'] ?? '').split(/, */)
    const encoding = asset.encodings.find((one) => accepted.includes(one))
    if (encoding !== undefined) reply.header('content-encoding', encoding)
    return reply
      .headers(consoleHeaders)
      .header('content-type', asset.type)
      .header('vary', 'accept-encoding')
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(await readFile(path.join(dir, 'assets', encoding ? `${name}.${encoding}` : name)))
  })
}
