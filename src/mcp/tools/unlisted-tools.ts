import { AppError } from '../../errors.ts'
import { refusalOf, type ToolPolicy } from '../policy/tool-policy.ts'
import { factsOf, type Tool, type ToolContext } from './define-tool.ts'

/** Adds to advice that names tools outside the client's list how they get into it: strict hosts call listed tools only. */
export function withListing(
  error: AppError,
  { operation, isListed }: ToolContext,
  { tools, toolPolicy }: { tools: ReadonlyMap<string, Tool>; toolPolicy: ToolPolicy },
): AppError {
  const { kind, message, details = '', rule, cause, retryAfterSeconds } = error
  const named = [...tools.values()].filter(
    (tool) =>
      tool.name !== operation.id &&
      !isListed(tool.name) &&
      refusalOf(factsOf(tool), toolPolicy) === null &&
      // Not "x of <time>", an entry of the audit log.
      new RegExp(`(?<![\\w-])${tool.name}(?![\\w-]| of )`).test(details),
  )
  if (named.length === 0) return error
  const names = named.map(({ name }) => name).join(', ')
  const groups = [...new Set(named.map(({ group }) => group))].join(',')
  const how = `If ${names} is not in your list of tools, a person adds it with tools=${groups} in the address of this server or longshore mcp --tools.`
  return new AppError(kind, message, {
    details: `${details.replace(/[.]?$/, '.')} ${how}`,
    ...(rule !== undefined && { rule }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    cause,
  })
}
