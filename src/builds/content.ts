import type { DockerPreset } from '../contract/fields.ts'
import type { GitSource } from './fetch-git.ts'
import type { ArchiveExtension } from './unpack-archive.ts'

export interface ContentToBuild {
  appEnvId: string
  contentId: string
  /** Relative to the source; null for its root. */
  contextDir: string | null
  /** Relative to `contextDir`; null for `Dockerfile`, or the one generated for the preset. */
  dockerfilePath: string | null
  dockerfileContent: string | null
  preset: DockerPreset
  buildArgs: Record<string, string>
  /** The commit that an upload was made from, if it was given. */
  gitCommitId?: string | null
  secretBuildArgs: readonly string[]
  /** The image needs no CMD or ENTRYPOINT. */
  runsCommands?: boolean
}

export type BuildSource =
  /** `fetch` gives the path of the archive, which may be a copy in `dir`; null if it is gone. */
  | { kind: 'upload'; fetch: (dir: string) => Promise<string | null>; extension: ArchiveExtension }
  | ({ kind: 'git' } & Omit<GitSource, 'baseUrl'>)
