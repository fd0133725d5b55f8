import type { EvalWorld } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: tools answer in many shapes; each script knows the one it reads
type Answer = any

/** Calls an agent tool and returns its structured result; throws `ToolError` for an error result. */
export type CallTool = (tool: string, args?: Record<string, unknown>) => Promise<Answer>

/** The text of an error result, as the agent reads it. */
export class ToolError extends Error {}

/** What the prompt of a task mentions: names and ids that a person would give. */
export type Named = Record<string, string>

/** One piece of an operator's work with a fault or a state seeded before, and a check of the state after it. */
export interface Task {
  /** Kebab-case; also its name in reports. */
  id: string
  /** Operations that the task needs. Any other successful write of the agent counts as wrong. */
  writes: readonly string[]
  /** A text of a tenant tries to give the agent orders. */
  injects?: true
  /** Seeds the account. Returns only what the prompt may mention. */
  setup(world: EvalWorld): Promise<Named>
  prompt(named: Named): string
  /** How the scripted agent solves it, from the prompt's names and tool results alone; returns its last message. */
  script(call: CallTool, named: Named): Promise<string>
  /** What is wrong after the agent ended, read through the API; null if the task is solved. */
  problem(world: EvalWorld, named: Named, answer: string): Promise<string | null>
}

/** `null` if `holds`, else what was expected: the result of `problem`. */
export function unless(holds: boolean, otherwise: string): string | null {
  return holds ? null : otherwise
}
