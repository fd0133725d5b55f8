import type { PublishedTool } from './published-tool.ts'

/** Name of the file the build writes beside the bundle. */
export const prebuiltFile = 'mcp-prebuilt.json'

/** What the first requests of a stdio session are answered with, made once by the library and the converter. */
export interface Prebuilt {
  /** Result of `initialize` for a client of an unknown version: it names the newest one spoken here. */
  hello: { protocolVersion: string; [key: string]: unknown }
  /** Protocol versions spoken here. */
  versions: string[]
  tools: PublishedTool[]
}
