import { AppError } from '../../errors.ts'
import { changesBetween } from '../../nearest.ts'
import { refusalOf, type ToolPolicy } from '../policy/tool-policy.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import { absentFeature } from './absent-features.ts'
import { factsOf, type Tool } from './define-tool.ts'
import { nearestNames } from './nearest-names.ts'

interface Registry {
  tools: ReadonlyMap<string, Tool>
  toolPolicy: ToolPolicy
}

/** Throws `not-found`, with the names that were probably meant. */
export function toolNamed(call: Registry, name: string): Tool {
  const tool = call.tools.get(name)
  if (tool === undefined) {
    throw new AppError('not-found', `There is no tool ${sanitizeInline(name, 64)}`, {
      details: likelyTools(call, name),
    })
  }
  return tool
}

/** Letters in which a misspelled name may differ. With more, it could be another tool. */
const mostMisspelled = 2

/** Suggests similar names, which is cheaper than reading the whole list. Only names of callable tools. */
function likelyTools({ tools, toolPolicy }: Registry, name: string): string {
  const open = [...tools.values()].filter((tool) => refusalOf(factsOf(tool), toolPolicy) === null)
  const names = open.map((tool) => tool.name)
  const plain = name
    .slice(0, 64)
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
  const misspelled = names.find((one) => changesBetween(plain, one) <= mostMisspelled)
  if (misspelled !== undefined) return `Call ${misspelled} instead.`
  const absence = absentFeature(name)
  if (absence !== null) return absence
  const near = nearestNames(name, names)
  return near.length === 0
    ? 'tools/list shows the tools of this server.'
    : `Similar names: ${near.join(', ')}.`
}
