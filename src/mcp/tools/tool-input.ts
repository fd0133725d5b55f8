/** The arguments of a tool call, as the model sent them. */
export type ToolInput = Readonly<Record<string, unknown>>
