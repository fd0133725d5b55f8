import type { IncomingMessage } from 'node:http'
import { AppError } from '../../errors.ts'
import { isToolPolicyOption, readToolPolicy, type ToolPolicyOption, toolPolicyOptions } from './options.ts'
import { narrowed, type ToolPolicy } from './tool-policy.ts'

/** Longshore's own headers that are not choices. */
const otherHeaders = new Set(['longshore-surface'])

/**
 * The tool policy of one request, from its address (`/mcp?read-only=1&tools=apps,logs`) and its headers
 * (`Longshore-Read-Only: 1`), never weaker than `base`. Throws `invalid` for an unknown choice, so that no caller relies on a
 * limit that does not exist.
 */
export function toolPolicyOfRequest(
  req: IncomingMessage,
  base: ToolPolicy,
  toolNames: readonly string[],
): ToolPolicy {
  const given = [...queryOptions(req.url ?? ''), ...headerOptions(req.headers)]
  if (given.length === 0) return base
  return narrowed(base, { ...readToolPolicy(given, toolNames), allowSecrets: base.allowSecrets })
}

function queryOptions(url: string): [ToolPolicyOption, string][] {
  const at = url.indexOf('?')
  if (at === -1) return []
  return [...new URLSearchParams(url.slice(at + 1))].map(([name, value]) => {
    const option = name === 'readonly' ? 'read-only' : name
    if (isToolPolicyOption(option)) return [option, value]
    throw unknown(`The address of /mcp has an unknown parameter ${JSON.stringify(name.slice(0, 100))}`)
  })
}

function headerOptions(headers: IncomingMessage['headers']): [ToolPolicyOption, string][] {
  const ours = Object.entries(headers).filter(
    ([name]) => name.startsWith('longshore-') && !otherHeaders.has(name),
  )
  return ours.map(([name, value]) => {
    const option = name.slice('longshore-'.length)
    if (isToolPolicyOption(option)) return [option, String(value)]
    throw unknown(`The header ${name} is not known`)
  })
}

function unknown(message: string): AppError {
  return new AppError('invalid', message, {
    details: `Known options: ${Object.keys(toolPolicyOptions).join(', ')}; as headers with Longshore- before them.`,
  })
}
