/** Names of the variables that carry the commit and the branch, in builds and containers. */
export const commitVariableNames = ['LONGSHORE_COMMIT', 'LONGSHORE_BRANCH', 'SOURCE_COMMIT'] as const

/** Where a version comes from, as variables; own variables of the same name win. */
export function commitVariables(content: {
  gitCommitId: string | null
  gitBranch: string | null
}): Record<string, string> {
  const { gitCommitId: commit, gitBranch: branch } = content
  return {
    ...(commit !== null && { LONGSHORE_COMMIT: commit, SOURCE_COMMIT: commit }),
    ...(branch !== null && { LONGSHORE_BRANCH: branch }),
  }
}
