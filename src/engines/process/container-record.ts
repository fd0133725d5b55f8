import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ContainerRecord, StartRequest } from './protocol.ts'

export function newRecord(request: StartRequest): ContainerRecord {
  return {
    name: request.name,
    podId: request.podId,
    appEnvId: request.appEnvId,
    contentId: request.contentId,
    template: request.template,
    declaredPort: request.declaredPort,
    memoryMb: request.memoryMb,
    state: 'created',
    pid: null,
    pidIdentity: null,
    port: null,
    seenAt: null,
    startedAt: null,
    finishedAt: null,
    exitCode: null,
    signal: null,
    outOfMemory: false,
  }
}

/**
 * Replaces the state file whole. Not synced: it must outlive the supervisor, not the machine, whose end ends
 * the container too; and a sync would cost more than the start itself.
 */
export function saveRecord(dir: string, record: ContainerRecord): void {
  const file = path.join(dir, 'record.json')
  writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Every readable state file; folders without one are left from a start or a removal cut short. */
export function loadRecords(containersDir: string): { records: ContainerRecord[]; broken: string[] } {
  const records: ContainerRecord[] = []
  const broken: string[] = []
  for (const name of readdirSync(containersDir)) {
    try {
      records.push(JSON.parse(readFileSync(path.join(containersDir, name, 'record.json'), 'utf8')))
    } catch {
      broken.push(name)
    }
  }
  return { records, broken }
}
