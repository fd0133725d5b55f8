import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import { type Exposure, narrowed } from './exposure.ts'
import { type ExposureOption, exposureOptions, isExposureOption, readExposure } from './exposure-options.ts'

/** Our own headers that state no choice. */
const otherHeaders = new Set(['longshore-surface'])

/**
 * The exposure of one request: what its address (`/mcp?read-only=1&tools=apps,logs`) and its headers
 * (`Longshore-Read-Only: 1`) ask for, never weaker than `base`. Throws `invalid` for a choice that is not
 * understood: the caller must not believe in a limit that is not there.
 */
export function exposureOfRequest(
  req: IncomingMessage,
  base: Exposure,
  toolNames: readonly string[],
): Exposure {
  const given = [...queryOptions(req.url ?? ''), ...headerOptions(req.headers)]
  if (given.length === 0) return base
  return narrowed(base, { ...readExposure(given, toolNames), allowSecrets: base.allowSecrets })
}

function queryOptions(url: string): [ExposureOption, string][] {
  const at = url.indexOf('?')
  if (at === -1) return []
  return [...new URLSearchParams(url.slice(at + 1))].map(([name, value]) => {
    const option = name === 'readonly' ? 'read-only' : name
    if (isExposureOption(option)) return [option, value]
    throw unknown(`The address of /mcp has an unknown parameter ${JSON.stringify(name.slice(0, 100))}`)
  })
}

function headerOptions(headers: IncomingMessage['headers']): [ExposureOption, string][] {
  const ours = Object.entries(headers).filter(
    ([name]) => name.startsWith('longshore-') && !otherHeaders.has(name),
  )
  return ours.map(([name, value]) => {
    const option = name.slice('longshore-'.length)
    if (isExposureOption(option)) return [option, String(value)]
    throw unknown(`The header ${name} is not known`)
  })
}

function unknown(message: string): AppError {
  return new AppError('invalid', message, {
    details: `Known are ${Object.keys(exposureOptions).join(', ')}; as headers with Longshore- before them.`,
  })
}
