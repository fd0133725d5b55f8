import { expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import type { Operation } from '../../../src/contract/operation.ts'
import { tools } from '../../../tools/index.ts'

const toolNames = new Set(tools.map(({ name }) => name))

const heading = [
  '# Reference of operations',
  '',
  'Generated from `src/contract` by `npm run docs`; do not edit. Paths are below `/api/public/v1`.',
  '',
  '"Who" says which tokens are accepted (U: user, E: environment) and which permission of the account is needed beyond',
  'access to the object; operators are the admins of the first account. An operation with a tool is offered to agents under the same name.',
  '[interface.md](interface.md) has the rules.',
  '',
]

/** Which tokens a row accepts, and the permission it needs beyond access to its object. */
function who({ policy }: Operation): string {
  const tokens = 'environmentToken' in policy ? 'U, E' : 'U'
  const needs = 'needs' in policy ? { admin: 'admin', manageMembers: 'Manage Members' }[policy.needs!] : null
  if ('operatorOnly' in policy) return `${tokens}; operators`
  return needs ? `${tokens}; ${needs}` : tokens
}

function rowOf(row: Operation): string {
  const cells = [
    `\`${row.id}\``,
    `${row.method} ${row.path}`,
    who(row),
    toolNames.has(row.id) ? 'yes' : 'no',
    row.summary.replaceAll('|', '\\|'),
  ]
  return `| ${cells.join(' | ')} |`
}

it('docs/reference.md is what the contract says (npm run docs writes it)', async () => {
  const rows = operations.map(rowOf)
  const table = ['| Operation | Method and path | Who | Tool | Summary |', '|---|---|---|---|---|', ...rows]
  const page = `${[...heading, ...table].join('\n')}\n`
  await expect(page).toMatchFileSnapshot('../../../docs/reference.md')
})
