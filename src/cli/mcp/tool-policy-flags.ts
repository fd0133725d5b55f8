import { Option } from 'commander'
import { type ToolPolicyOption, toolPolicyHelp } from '../../mcp/policy/options.ts'
import type { CliCommand } from '../command.ts'

/** Adds the options that limit an agent's tools to the help of a command; `splitFlags` parses them. */
export function addToolPolicyFlags(command: CliCommand, prefix: string): CliCommand {
  for (const name of Object.keys(toolPolicyHelp) as ToolPolicyOption[]) {
    const [value, what] = toolPolicyHelp[name]
    const option = new Option(`--${prefix}${name} ${value}`, what)
    // `--no-destructive` does not negate an option `--destructive`.
    option.negate = false
    command.addOption(option)
  }
  return command
}
