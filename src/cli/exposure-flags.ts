import { Option } from 'commander'
import { exposureHelp, type ToolPolicyOption } from '../mcp/policy/options.ts'
import type { CliCommand } from './cli-command.ts'

/** Adds the options that limit an agent's tools to the help of a command; `splitFlags` parses them. */
export function addExposureFlags(command: CliCommand, prefix: string): CliCommand {
  for (const name of Object.keys(exposureHelp) as ToolPolicyOption[]) {
    const [value, what] = exposureHelp[name]
    const option = new Option(`--${prefix}${name} ${value}`, what)
    // `--no-destructive` does not negate an option `--destructive`.
    option.negate = false
    command.addOption(option)
  }
  return command
}
