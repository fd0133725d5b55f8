import { z } from 'zod'

/** An empty `lease`: instances or leases changed, so beat now. */
const shape = z.object({
  by: z.string(),
  environments: z.array(z.string()).optional(),
  lease: z.string().optional(),
  spent: z.array(z.tuple([z.string(), z.string(), z.number()])).optional(),
})

/** An announcement of one control plane to the others. */
export type Message = z.output<typeof shape>

/** Undefined for a payload that no control plane sends. */
export function messageOf(payload: string): Message | undefined {
  try {
    return shape.safeParse(JSON.parse(payload)).data
  } catch {
    return undefined
  }
}
