import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    pending_authors: { app_env_id: string; path: string; saved_by: string | null; at: string }
  }
}

/** Who saved a path of the settings, and when. `by` is null for an environment's own token. */
interface Author {
  by: string | null
  at: string
}

/** In a statement. */
const mostRows = 200

export async function saveAuthors(
  tx: Tx,
  appEnvId: string,
  paths: readonly string[],
  { by, at }: Author,
): Promise<void> {
  for (let from = 0; from < paths.length; from += mostRows) {
    const rows = paths
      .slice(from, from + mostRows)
      .map((path) => ({ app_env_id: appEnvId, path, saved_by: by, at }))
    await tx
      .insertInto('pending_authors')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['app_env_id', 'path']).doUpdateSet({ saved_by: by, at }))
      .execute()
  }
}

/** The author of each path that was saved since the version that recorded authors. */
export async function listAuthors(tx: Tx, appEnvId: string): Promise<Map<string, Author>> {
  const rows = await tx.selectFrom('pending_authors').selectAll().where('app_env_id', '=', appEnvId).execute()
  return new Map(rows.map(({ path, saved_by, at }) => [path, { by: saved_by, at }]))
}

export async function forgetAuthors(tx: Tx, appEnvId: string, paths: readonly string[]): Promise<void> {
  for (let from = 0; from < paths.length; from += mostRows) {
    await tx
      .deleteFrom('pending_authors')
      .where('app_env_id', '=', appEnvId)
      .where('path', 'in', paths.slice(from, from + mostRows))
      .execute()
  }
}
