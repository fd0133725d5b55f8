import { listAlerts } from '../contract/alerts.ts'
import { getLogs } from '../contract/app-env-reads.ts'
import { diagnoseAppEnv, getAccountHealth } from '../contract/diagnosis.ts'
import type { OutputOf } from '../contract/operation.ts'
import { codeBlock, escaped } from './text.ts'

/** The words of the platform for people in a chat. */
export interface Words {
  /** The sentence of the tools about an answer. */
  sentence(operationId: string, answer: object, input: object, envName: string): string
  /** A text of ours with the operations that it names as commands. */
  asCommands(text: string, envName?: string): string
}

const mostLines = 10

/** What follows the sentence. */
export function answerLines(
  operationId: string,
  answer: Record<string, unknown>,
  asCommands: (text: string) => string,
): string[] {
  switch (operationId) {
    case getLogs.id: {
      const { logs } = answer as OutputOf<typeof getLogs>
      return logs.length === 0 ? [] : [codeBlock(logs.map((line) => `${line.timestamp}  ${line.message}`))]
    }
    case diagnoseAppEnv.id: {
      const { findings } = answer as OutputOf<typeof diagnoseAppEnv>
      return findings
        .slice(0, mostLines)
        .flatMap(({ cause, summary, fix }) => [
          `• *${cause}*: ${escaped(asCommands(summary), 600)}`,
          ...(fix === null ? [] : fix.effects.map((effect) => `    ${escaped(asCommands(effect), 300)}`)),
        ])
    }
    case getAccountHealth.id: {
      const { worst } = answer as OutputOf<typeof getAccountHealth>
      return worst.map(({ envName, severity, causes }) => `• ${severity}: ${envName} (${causes.join(', ')})`)
    }
    case listAlerts.id: {
      const { alerts } = answer as OutputOf<typeof listAlerts>
      return alerts
        .slice(0, 2 * mostLines)
        .map(
          ({ alertId, name, enabled, lastKnownState, envName }) =>
            `• ${enabled ? lastKnownState : 'paused'}: ${escaped(name, 100)}${envName ? ` (${envName})` : ''} \`${alertId}\``,
        )
    }
    default:
      return []
  }
}
