import { readFileSync } from 'node:fs'
import path from 'node:path'

const file = path.resolve(import.meta.dirname, '../docs/interface.md')

/**
 * Rules by id, as docs/interface.md defines them: `- **F8** Autoscaling …`, `- **8.job-ttl** …`, or words with hyphens,
 * `- **read-only-token** …`. An id that is defined twice throws.
 */
export function readInterfaceRules(text = readFileSync(file, 'utf8')): ReadonlyMap<string, string> {
  const rules = new Map<string, string>()
  for (const [, id = '', rule = ''] of text.matchAll(
    /^- \*\*([A-Z]\d+|\d\.[\w-]+|[a-z]+(?:-[a-z]+)+|policy)\*\* (.+)$/gm,
  )) {
    if (rules.has(id)) throw new Error(`docs/interface.md defines ${id} twice`)
    rules.set(id, rule)
  }
  return rules
}
