import { settingNames, updateAccount } from '../src/contract/accounts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { memberAccessEffects } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: updateAccount,
  group: 'access',
  title: 'Switch member access',
  description:
    'Switches restricted access of members to environments on for the whole account (enforces the lists of update-member-env-access) or off (all members get FULL access; confirm: the account name).',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  // Only people change the name and the limits, which affect cost.
  peopleInputs: ['name', 'settings', ...settingNames.filter((name) => name !== 'memberEnvAccessEnabled')],
  destroys: memberAccessEffects,
  point: ({ account }) =>
    `Per-environment access of account ${account.accountId} is ${account.settings.memberEnvAccessEnabled ? 'on' : 'off'}.`,
})
