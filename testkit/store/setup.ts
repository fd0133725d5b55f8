import type { TestProject } from 'vitest/node'
import { noPostgres, PostgresServer } from './postgres-server.ts'
import { makeTemplate } from './test-store.ts'

/** Runs once before all tests. TEST_STORE=postgres: the platforms of tests keep their rows in PostgreSQL. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const kind = process.env.TEST_STORE ?? 'sqlite'
  if (kind === 'sqlite') {
    project.provide('postgres', null)
    return
  }
  if (kind !== 'postgres') throw new Error(`TEST_STORE must be sqlite or postgres, not ${kind}`)
  if (noPostgres) throw new Error(noPostgres)
  const server = await PostgresServer.start()
  project.provide('postgres', { ...server.access, template: await makeTemplate(server) })
  return () => server.stop()
}
